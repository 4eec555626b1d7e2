import { expect, test } from '@jest/globals';
import { aLimitRange, keepingState } from '../../test/support/builders/pod-rejection.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { aQuota, hard } from '../../test/support/builders/quota.ts';
import { aVm } from '../../test/support/builders/preflight.ts';
import { NOW } from '../../test/support/builders/object.ts';
import { LISTED_CLAIMS, LISTED_WHOLE_LIMIT_RANGES } from '../../functions/cluster/listed.ts';
import type { LimitRange, ResourceQuota, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { Reader } from '../../functions/kubernetes/cluster.ts';
import { LISTED_QUOTAS_TO_CHARGE } from './listed.ts';
import { readNamespaces } from './read-namespaces.ts';

const OF_CLAIMS: LimitRange = {
  ...aLimitRange(),
  spec: { limits: [{ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } }] },
};

interface Tenant {
  readonly vmi: VirtualMachineInstance;
  readonly range: LimitRange;
  readonly quota: ResourceQuota;
}

/** Whether it lists the volume claims of the tenant. */
async function readsClaims({ vmi, range, quota }: Tenant): Promise<boolean> {
  const listed: unknown[] = [];
  const items = new Map<unknown, unknown[]>([
    [LISTED_QUOTAS_TO_CHARGE, [quota]],
    [LISTED_WHOLE_LIMIT_RANGES, [range]],
  ]);
  const reader = {
    get: () => Promise.resolve({ object: aNamespace(), date: new Date(NOW) }),
    list: (type: unknown) => {
      listed.push(type);
      return Promise.resolve({ items: items.get(type) ?? [], date: new Date(NOW) });
    },
  } as unknown as Reader;
  await readNamespaces(reader, { vmis: [vmi], state: { migrations: [], vmmrqs: [], clusterVmmrqs: [] } });
  return listed.includes(LISTED_CLAIMS);
}

const PLAIN: Tenant = { vmi: keepingState(), range: aLimitRange(), quota: aQuota() };
const CLAIMED = aQuota(hard({ 'requests.storage': '10Gi' }));

test.each<[what: string, Tenant, isRead: boolean]>([
  ['a quota counts them', { ...PLAIN, quota: CLAIMED }, true],
  ['a LimitRange is about them', { ...PLAIN, range: OF_CLAIMS }, true],
  ['nothing is about them', PLAIN, false],
  ['no VM needs another one', { vmi: aVm(), range: OF_CLAIMS, quota: CLAIMED }, false],
])('volume claims, where %s', async (_, tenant, isRead) => {
  expect(await readsClaims(tenant)).toBe(isRead);
});
