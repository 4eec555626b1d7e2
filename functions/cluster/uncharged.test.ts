import { expect, test } from '@jest/globals';
import { aLauncher, podPhase } from '../../test/support/builders/kubevirt.ts';
import { aQuota, hard, used } from '../../test/support/builders/quota.ts';
import type { Pod, ResourceList } from '../domain/objects.ts';
import type { Reader, Selection } from '../kubernetes/cluster.ts';
import { readUncharged } from './uncharged.ts';

const ALL = [aLauncher('vm0'), aLauncher('vm1', podPhase('Succeeded'))];

/** Lists the pods as the API server does, which knows this one field selector. */
const reader = {
  list: (_: unknown, { fieldSelector }: Selection): Promise<{ items: readonly Pod[] }> =>
    Promise.resolve({ items: fieldSelector === undefined ? ALL : ALL.slice(0, 1) }),
} as unknown as Reader;

test.each<[string, ResourceList, readonly string[]]>([
  ['counts objects of pods: those of ended pods too', { pods: '2', 'count/pods': '2' }, ['pods']],
  ['counts more objects than there are', { 'count/pods': '3' }, ['count/pods']],
  ['counts living pods alone', { pods: '2' }, ['pods']],
])('a quota that %s', async (_, list, want) => {
  const quota = aQuota(hard(list), used(list));
  const found = await readUncharged(reader, 'tenant', [quota]);
  expect([...(found.get(quota.metadata.uid)?.keys() ?? [])]).toEqual(want);
});
