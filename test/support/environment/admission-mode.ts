import { ADMISSION_MODES, type AdmissionMode } from '../../cluster/admission-modes.ts';

/** The admission mode of this run's test environments: `ADMISSION_MODE=policy|both`, default both. The only reader of the variable. */
export const ADMISSION_MODE: AdmissionMode = admissionModeOf(process.env['ADMISSION_MODE'] ?? 'both');

/** For tests of the webhooks themselves: always with webhooks. */
export const WITH_WEBHOOKS: AdmissionMode = 'both';

function admissionModeOf(text: string): AdmissionMode {
  const admissionMode = ADMISSION_MODES.find((one) => one === text);
  if (admissionMode === undefined)
    throw new Error(`ADMISSION_MODE is one of ${ADMISSION_MODES.join(', ')}; not '${text}'`);
  return admissionMode;
}
