import { grantOf, type Grant } from '../domain/quota/grant.ts';
import type { Lock } from '../domain/lock.ts';
import { ANNOTATION } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { enforcesNoMore } from '../domain/quota/enforced.ts';
import { handedBack, releasedQuota, restoredQuota, type ForeignEdit } from '../domain/quota/restore.ts';

/** What one quota needs next on its way back. */
export type NextWrite =
  | { readonly kind: 'done' }
  /** ② spec original; grant and label stay. */
  | { readonly kind: 'restore'; readonly quota: ResourceQuota; readonly foreignEdits: readonly ForeignEdit[] }
  /** Wait until status.hard is nowhere above spec.hard, or write it. */
  | { readonly kind: 'enforce'; readonly foreignEdits: readonly ForeignEdit[] }
  /** ③ record dropped, field ownership handed back, fence set. */
  | { readonly kind: 'release'; readonly quota: ResourceQuota; readonly foreignEdits: readonly ForeignEdit[] }
  /** Never raised: only the fence, so that no late raise of this lock can raise it. */
  | { readonly kind: 'fence'; readonly quota: ResourceQuota };

/** Pure: the next of a quota's three writes, as far as its own content tells. */
export function nextWrite(quota: ResourceQuota, lock: Lock | undefined): NextWrite {
  const state = grantOf(quota);
  if (state.kind === 'none') return fenceOrDone(quota, lock);
  // A grant that cannot be read says nothing of an original: spec.hard stays as it is.
  if (state.kind === 'malformed') return close(quota, lock?.token ?? 'unreadable', []);
  return restoreOrClose(quota, state.grant);
}

function fenceOrDone(quota: ResourceQuota, lock: Lock | undefined): NextWrite {
  const isOfLock = lock?.quotas.some(({ uid }) => uid === quota.metadata.uid) === true;
  if (!isOfLock || quota.metadata.annotations?.[ANNOTATION.lastRelease] === lock.token)
    return { kind: 'done' };
  return { kind: 'fence', quota: releasedQuota(quota, lock.token) };
}

function restoreOrClose(quota: ResourceQuota, grant: Grant): NextWrite {
  const back = restoredQuota(quota, grant);
  if (back.changed) return { kind: 'restore', quota: back.quota, foreignEdits: back.foreignEdits };
  return close(handedBack(quota, grant), grant.token, back.foreignEdits);
}

function close(quota: ResourceQuota, token: string, foreignEdits: readonly ForeignEdit[]): NextWrite {
  if (!enforcesNoMore(quota)) return { kind: 'enforce', foreignEdits };
  return { kind: 'release', quota: releasedQuota(quota, token), foreignEdits };
}
