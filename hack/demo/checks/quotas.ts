import { ANNOTATION } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { unless, type Case } from './check-result.ts';

/** Checks that the quotas are byte for byte unchanged, except for last-release on the quotas of the lock. */
export async function quotasCheck(demoCase: Case): Promise<string[]> {
  const { tenant, before, admin } = demoCase;
  const { items } = await admin.list(RESOURCE_QUOTAS, { namespace: tenant.namespace });
  const wrong = before.quotas.flatMap((was) => {
    const is = items.find(({ metadata }) => metadata.name === was.metadata.name);
    return is === undefined
      ? [`${was.metadata.name} is gone`]
      : [...differences(was, is), ...lastRelease(is, demoCase)];
  });
  return [...wrong, ...unless(items.length === before.quotas.length, 'there are more quotas than before')];
}

function differences(was: ResourceQuota, is: ResourceQuota): string[] {
  const pairs: [string, unknown, unknown][] = [
    ['spec', was.spec, is.spec],
    ['status.hard', was.status?.hard, is.status?.hard],
    ['metadata', restOf(was), restOf(is)],
  ];
  return pairs.flatMap(([what, one, other]) => {
    const [before, now] = [JSON.stringify(one), JSON.stringify(other)];
    return unless(before === now, `${was.metadata.name}: ${what} was ${before}, is ${now}`);
  });
}

/** The metadata without the fields that every write changes, and without the remaining annotation. */
function restOf({ metadata }: ResourceQuota): unknown {
  const { annotations = {}, ...rest } = metadata;
  const { [ANNOTATION.lastRelease]: _fence, ...others } = annotations;
  return { ...rest, resourceVersion: '', managedFields: [], annotations: others };
}

function lastRelease({ metadata }: ResourceQuota, { tenant, kind }: Case): string[] {
  const own = tenant.quotas.find(({ name }) => name === metadata.name);
  const expected = kind !== 'notEnough' && own?.isNotInTheWay !== true;
  const found = metadata.annotations?.[ANNOTATION.lastRelease];
  return unless(
    (found !== undefined) === expected,
    `${metadata.name}: last-release is ${found ?? 'missing'}`,
  );
}
