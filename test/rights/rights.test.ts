import { expect, test } from '@jest/globals';
import { renderAdmissionMode } from '../cluster/admission-modes.ts';
import { ADMISSION_MODE } from '../support/environment/admission-mode.ts';
import { USED_RIGHTS_FOLDER } from '../support/environment/rights-used.ts';
import { rightsProblems, usedIn } from './rights.ts';

/** Runs after the integration tests, on the audit logs of all their test environments. */
test(`installed with ${ADMISSION_MODE}: every granted right is used, and no used right is missing`, async () => {
  expect(rightsProblems(await renderAdmissionMode(ADMISSION_MODE), usedIn(USED_RIGHTS_FOLDER))).toEqual([]);
});
