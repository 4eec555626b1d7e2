import { REASON } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { sameQuantity } from '../domain/quantity.ts';
import type { Refusal } from './report.ts';

/** A quota as it was to be written, dry, and as the API server would have stored it. */
export interface Rehearsed {
  readonly asked: ResourceQuota;
  readonly stored: ResourceQuota;
}

/**
 * Somebody's webhook would change the amounts on their way: the record would say other ones than spec.hard, and nothing
 * would be put back. undefined: all would be stored as it was asked for.
 */
export function alteration(rehearsed: readonly Rehearsed[]): Refusal | undefined {
  const [altered] = rehearsed.flatMap(({ asked, stored }) => {
    const hard = stored.spec.hard ?? {};
    const keys = Object.entries(asked.spec.hard ?? {}).filter(
      ([key, amount]) => !sameQuantity(hard[key] ?? '', amount),
    );
    return keys.map(
      ([key, amount]) =>
        `${asked.metadata.name} with ${key}=${amount} would be stored with ${hard[key] ?? 'none'}`,
    );
  });
  if (altered === undefined) return undefined;
  const message = `Unsupported: ResourceQuota ${altered}: something in the cluster changes quotas as they are written`;
  return { reason: REASON.refusedByPolicy, message };
}
