import { grantOf } from '../../../functions/domain/quota/grant.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { describeQuantity, parseQuantity } from '../../../functions/domain/quantity.ts';
import { isEnforced } from '../../../functions/domain/quota/enforced.ts';
import { isRaiseEnforced } from '../../../functions/domain/quota/restore.ts';
import type { Found, Versions } from './happening.ts';

/** A quota is raised, put back, let go of; or the API server begins to enforce what it says. */
export function ofQuota({ before, after }: Versions<ResourceQuota>): Found[] {
  if (before === undefined || after === undefined) return [];
  const [was, is] = [grantOf(before).kind, grantOf(after).kind];
  const { name } = after.metadata;
  const replaced = replacedBy(before);
  if (was === 'none' && is === 'none') return [];
  if (was === 'none') {
    return [{ what: 'raised', text: `raises ${name}: ${changesOf(before, after)}`, replaced, by: 'raise' }];
  }
  if (is === 'none') return [{ what: 'released', text: `lets go of ${name}`, replaced, by: 'lower' }];
  return whileGranted(before, after);
}

function whileGranted(before: ResourceQuota, after: ResourceQuota): Found[] {
  const { name } = after.metadata;
  const replaced = replacedBy(before);
  const changes = changesOf(before, after);
  if (changes !== '') {
    return [{ what: 'restored', text: `puts ${name} back: ${changes}`, replaced, by: 'lower' }];
  }
  const enforcing = { replaced, by: 'quota controller' };
  if (isRaiseEnforced(after) && !isRaiseEnforced(before)) {
    return [{ what: 'raise enforced', text: `enforces the raise of ${name}`, ...enforcing }];
  }
  if (isEnforced(after) && !isEnforced(before)) {
    return [{ what: 'original enforced', text: `enforces the original of ${name}`, ...enforcing }];
  }
  return [];
}

const replacedBy = ({ metadata: { name, resourceVersion } }: ResourceQuota): Found['replaced'] & object => ({
  resource: 'resourcequotas',
  name,
  resourceVersion,
});

/** "requests.cpu 1500m → 2500m, pods 1 → 2" */
function changesOf({ spec: { hard: before = {} } }: ResourceQuota, { spec }: ResourceQuota): string {
  const { hard: after = {} } = spec;
  const changed = Object.keys({ ...before, ...after }).filter((key) => before[key] !== after[key]);
  return changed.map((key) => `${key} ${amount(key, before)} → ${amount(key, after)}`).join(', ');
}

function amount(key: string, list: ResourceList): string {
  const text = list[key];
  return text === undefined ? 'none' : describeQuantity(key, parseQuantity(text));
}
