import { shown } from '../foreign-text.ts';
import { MAX_MESSAGE, type KnownVerdict } from '../progress/known-verdict.ts';
import { shortfallTexts } from '../quota/charged.ts';
import type { Verdict } from './verdict.ts';

/** ResourceQuotas that are named: more rarely refuse one pod. */
const MAX_QUOTAS = 5;

/** A verdict as the annotation of its Event, for the guard (ANNOTATION.verdict). */
export function verdictText({
  reason,
  message,
  blocking,
}: Pick<Verdict, 'reason' | 'message' | 'blocking'>): string {
  const quotas = blocking.slice(0, MAX_QUOTAS).map(({ quota, shortfalls }) => ({
    name: quota.name,
    missing: shortfallTexts(shortfalls),
  }));
  const what = quotas.length === 0 ? { message: shown(message, MAX_MESSAGE) } : { quotas };
  const known: KnownVerdict = { reason, ...what };
  return JSON.stringify(known);
}
