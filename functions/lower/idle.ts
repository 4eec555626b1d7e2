import type { Wake } from '../eventing/wake.ts';
import { grantIn } from '../domain/quota/grant.ts';
import { ANNOTATION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import { isUnderWay } from '../domain/migration.ts';
import { parseQuantity, sameQuantity } from '../domain/quantity.ts';
import type { ToldOf } from '../eventing/told.ts';

/**
 * What an event itself tells is no end of any migration's wait: it is still Pending, or long past it; or nothing was
 * charged beyond a raised quota's original, or the quota is being put back. Where that is not so any more, a later event
 * says it; where that is lost, the guard's lock.stalled does.
 */
export function isIdle({ type, told }: Wake): boolean {
  if (type !== SOURCE_EVENT.update) return false;
  if (told?.kind === KIND.migration.kind) {
    if (told.metadata.deletionTimestamp !== undefined) return false;
    return told.status?.phase === 'Pending' || isUnderWay(told);
  }
  return told?.kind === KIND.quota.kind && isUntouched(told);
}

function isUntouched({ metadata, spec, status }: ToldOf<typeof KIND.quota.kind>): boolean {
  const text = metadata.annotations?.[ANNOTATION.grant];
  const state = text === undefined ? undefined : grantIn(text);
  if (state?.kind !== 'held') return false;
  const { original, raised } = state.grant;
  const keys = Object.keys(raised);
  const isBack = (key: string): boolean => spec.hard?.[key] === original[key];
  // A target pod that the raise let in is charged above the original.
  const isUnused = (key: string): boolean =>
    isSame(spec.hard?.[key], raised[key]) && isWithin(status?.used?.[key], original[key]);
  return keys.length > 0 && keys.every((key) => isBack(key) || isUnused(key));
}

const isSame = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && sameQuantity(one, other);

const isWithin = (used: string | undefined, amount: string | undefined): boolean =>
  used !== undefined && amount !== undefined && parseQuantity(used) <= parseQuantity(amount);
