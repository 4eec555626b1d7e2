import { cutText } from '../../functions/domain/foreign-text.ts';

const BAR = 30;
/** Characters beside the subject in a line with a bar. */
const BESIDE = BAR + 40;

/** Draws `done` of `total`; full where there is nothing to do. */
export function barOf(done: number, total: number): string {
  const filled = total === 0 ? BAR : Math.floor((done / total) * BAR);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
}

/** The subject of a line with a bar. */
export const subjectOf = (subject: string, columns: number): string =>
  cutText(subject, Math.max(10, columns - BESIDE));

/** Maximum number of VMs in a line that says what they wait for. */
export const MAX_NAMED = 8;
