import { givenBack } from './field-ownership.ts';
import { grantOf, type Grant } from './grant.ts';
import { ANNOTATION, LABEL } from '../names.ts';
import type { ResourceList, ResourceQuota } from '../objects.ts';
import { sameQuantity } from '../quantity.ts';

/** A raised key that somebody set to something else meanwhile: theirs stands. */
export interface ForeignEdit {
  readonly key: string;
  readonly raised: string;
  /** undefined: they dropped the key. */
  readonly now: string | undefined;
}

export interface Restored {
  readonly quota: ResourceQuota;
  /** False: spec.hard is as it should be already. */
  readonly changed: boolean;
  readonly foreignEdits: readonly ForeignEdit[];
}

/**
 * Write ② of a quota: the originals' exact texts back wherever spec.hard still says what the grant raised it to; grant
 * and label stay, because status.hard may still be raised.
 */
export function restoredQuota(quota: ResourceQuota, grant: Grant): Restored {
  const hard = quota.spec.hard ?? {};
  const back: ResourceList = {};
  const foreignEdits: ForeignEdit[] = [];
  for (const [key, raised] of Object.entries(grant.raised)) {
    const now = hard[key];
    const original = grant.original[key];
    if (original === undefined || now === original) continue;
    if (now !== undefined && sameQuantity(now, raised)) back[key] = original;
    else foreignEdits.push({ key, raised, now });
  }
  return {
    quota: { ...quota, spec: { ...quota.spec, hard: { ...hard, ...back } } },
    changed: Object.keys(back).length > 0,
    foreignEdits,
  };
}

/**
 * Write ③: the record dropped and the fence set. Only for a quota whose status.hard is its spec.hard again, or that was
 * never raised.
 */
export function releasedQuota(quota: ResourceQuota, token: string): ResourceQuota {
  const {
    [ANNOTATION.grant]: _grant,
    [ANNOTATION.migrations]: _migrations,
    ...annotations
  } = quota.metadata.annotations ?? {};
  const { [LABEL.raised]: _label, ...labels } = quota.metadata.labels ?? {};
  const { labels: _all, ...metadata } = quota.metadata;
  return {
    ...quota,
    metadata: {
      ...metadata,
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      annotations: { ...annotations, [ANNOTATION.lastRelease]: token },
    },
  };
}

/**
 * The field ownership of the keys that say their original again, handed back for write ③: else a server-side apply of
 * their owners could never remove such a key again. A key that somebody else has set meanwhile is theirs.
 */
export function handedBack(quota: ResourceQuota, grant: Grant): ResourceQuota {
  const { managedFields } = quota.metadata;
  if (managedFields === undefined) return quota;
  const hard = quota.spec.hard ?? {};
  const keys = Object.keys(grant.raised).filter(
    (key) => hard[key] !== undefined && hard[key] === grant.original[key],
  );
  const entries = keys.reduce(
    (before, key) => givenBack(before, key, grant.managers[key] ?? []),
    managedFields,
  );
  return { ...quota, metadata: { ...quota.metadata, managedFields: entries } };
}

/** Every raised key is enforced at its raised amount: virt-controller's next try counts. */
export function isRaiseEnforced(quota: ResourceQuota): boolean {
  const state = grantOf(quota);
  if (state.kind !== 'held') return false;
  const status = quota.status?.hard ?? {};
  return Object.entries(state.grant.raised).every(([key, raised]) => {
    const enforced = status[key];
    return enforced !== undefined && sameQuantity(enforced, raised);
  });
}
