import { ADMISSION_MODES, type AdmissionMode } from '../cluster/admission-modes.ts';

/** How the labs are installed in this run: `ADMISSION_MODE=policy|both`, both when it is not set. The one reader of it. */
export const ADMISSION_MODE: AdmissionMode = admissionModeOf(process.env['ADMISSION_MODE'] ?? 'both');

/** For what is about the webhooks themselves: with them, in every run. */
export const WITH_WEBHOOKS: AdmissionMode = 'both';

function admissionModeOf(text: string): AdmissionMode {
  const admissionMode = ADMISSION_MODES.find((one) => one === text);
  if (admissionMode === undefined)
    throw new Error(`ADMISSION_MODE is one of ${ADMISSION_MODES.join(', ')}; not '${text}'`);
  return admissionMode;
}
