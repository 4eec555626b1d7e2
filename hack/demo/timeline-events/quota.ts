import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { isUndone } from '../../../functions/domain/quota/raise.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { describeAmountText } from '../../../functions/domain/quantity.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

/** Reports that a quota is raised, lowered, or recounted by the quota controller while it is raised. */
export function ofQuota({ before, after }: Versions<ResourceQuota>): EventDetails[] {
  if (before === undefined || after === undefined) return [];
  const [was, is] = [grantOf(before), grantOf(after)];
  const { name } = after.metadata;
  const replaced = replacedBy(before);
  const named = [name, ...changesOf(before, after)].join(': ');
  if (was.kind === 'none' && is.kind === 'none') return [];
  if (was.kind === 'none') {
    return [{ what: 'raised', text: `raises ${named}`, replaced, by: 'raise' }];
  }
  if (is.kind === 'none') {
    return [{ what: 'lowered', text: `restores ${named}`, replaced, by: 'lower' }];
  }
  if (is.kind === 'held' && isUndone(after, is.grant) && !isUndone(before, is.grant)) {
    return [{ what: 'undone', text: `recounts ${named}`, replaced, by: 'quota controller' }];
  }
  return [];
}

const replacedBy = ({
  metadata: { name, resourceVersion },
}: ResourceQuota): EventDetails['replaced'] & object => ({
  resource: 'resourcequotas',
  name,
  resourceVersion,
});

/** ["requests.cpu 1500m → 2500m, pods 1 → 2"], from status.hard; empty where nothing changes. */
function changesOf(before: ResourceQuota, after: ResourceQuota): string[] {
  const [was, is] = [before.status?.hard ?? {}, after.status?.hard ?? {}];
  const changed = Object.keys({ ...was, ...is }).filter((key) => was[key] !== is[key]);
  const texts = changed.map((key) => `${key} ${amount(key, was)} → ${amount(key, is)}`);
  return texts.length === 0 ? [] : [texts.join(', ')];
}

function amount(key: string, list: ResourceList): string {
  const text = list[key];
  return text === undefined ? 'none' : describeAmountText(key, text);
}
