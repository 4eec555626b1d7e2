import { describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import type { ClusterVmmrq, Given } from '../../../functions/domain/objects.ts';
import { MAX_GIVEN } from '../../../functions/domain/quota/given.ts';
import { CLUSTER_VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { report } from '../../../functions/raise/report.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import type { Log } from '../../../functions/runtime/log.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { NOW } from '../../support/builders/object.ts';
import { aQuota, raisedFor } from '../../support/builders/quota.ts';
import type { Model } from '../model/model.ts';
import { clusterVmmrq, TENANT, tenantNamespace, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, GIVES, raiseFor } from '../world/one-step.ts';

const EVERYWHERE = clusterVmmrq('uid-of-everywhere', {
  namespaceSelector: {},
  ...GIVES,
  purposes: ['UserRequested'],
});
const LOCK = aLock({
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', purpose: 'UserRequested' }],
  quotas: [{ name: 'quota', uid: 'uid-of-quota', need: { 'requests.cpu': '1' } }],
  vmmrqs: ['cvmmrq/everywhere', 'more'],
});
const GIVEN: Given = {
  at: new Date(NOW).toISOString(),
  namespace: TENANT,
  quota: 'quota',
  amounts: { 'requests.cpu': '1' },
  migrations: ['mig0'],
};

interface World {
  readonly model: Model;
  /** What `raise` asked of VMMRQs. */
  readonly asked: string[];
  /** Runs before the first write of a VMMRQ's status. */
  before: ((model: Model) => void) | undefined;
}

/** A blocked tenant, to whom a cluster-wide VMMRQ and one of its own give. */
function aWorld(before?: World['before']): World {
  const asked: string[] = [];
  const model = aBlockedTenant({
    pace: (point) => {
      const isOfVmmrq = point.kind.endsWith('MigrationResourceQuota') && point.phase === 'arrive';
      if (!isOfVmmrq || point.user !== userOf(SERVICE_ACCOUNT.raise)) return Promise.resolve();
      asked.push([point.verb, point.name, point.subresource ?? ''].join(' ').trim());
      if (point.verb === 'replace') world.before?.(model);
      if (point.verb === 'replace') world.before = undefined;
      return Promise.resolve();
    },
  });
  model.store.put(EVERYWHERE);
  model.store.put(vmmrq('more', 'uid-of-more', GIVES));
  const world: World = { model, asked, before };
  return world;
}

const storedIn = ({ store }: Model): ClusterVmmrq =>
  store.get<ClusterVmmrq>({ kind: CLUSTER_VMMRQS.kind, name: 'everywhere' }) ?? EVERYWHERE;
const givenIn = (model: Model): Given[] | undefined => storedIn(model).status?.given;

/** Raises, and waits for the reports. */
async function raise({ model }: World): Promise<void> {
  const reports: Promise<void>[] = [];
  const inBackground = (work: () => Promise<void>): void => void reports.push(work());
  const namespace = lockedBy(LOCK)(tenantNamespace('uid-of-tenant'));
  model.store.put(namespace);
  await raiseFor(namespace, { ...model, context: { inBackground } });
  await Promise.all(reports);
}

describe('a raise is entered in the cluster-wide VMMRQ that gives to it', () => {
  test('by one request, and in no other VMMRQ', async () => {
    const world = aWorld();
    await raise(world);
    expect(givenIn(world.model)).toEqual([GIVEN]);
    expect(world.asked.toSorted()).toEqual(['get everywhere', 'get more', 'replace everywhere status']);
  });

  test('beside what another namespace entered meanwhile', async () => {
    const other = { ...GIVEN, namespace: 'other' };
    const world = aWorld(({ store }) => store.put({ ...EVERYWHERE, status: { given: [other] } }));
    await raise(world);
    expect(givenIn(world.model)).toEqual([GIVEN, other]);
  });

  test('once, where the event comes again', async () => {
    const world = aWorld();
    await raise(world);
    await raise(world);
    expect(world.asked.filter((each) => each.startsWith('replace'))).toHaveLength(1);
  });
});

test('a hundred namespaces at once enter what they can, by at most seven requests each', async () => {
  const { model, asked } = aWorld();
  const cluster = model.server.as(userOf(SERVICE_ACCOUNT.raise));
  const logged: string[] = [];
  const log: Log = (_, message) => void logged.push(message);
  const reporter = { cluster, clock: systemClock, log };
  const everywhere = storedIn(model);
  const reports = Array.from({ length: 100 }, (_, index) => {
    const namespace = `tenant-${String(index)}`;
    const own = aQuota((quota) => ({ ...quota, metadata: { ...quota.metadata, namespace } }));
    const raised = raisedFor(LOCK, everywhere)(own);
    const { token } = LOCK;
    const about = { namespace, token, quotas: [own], vmmrqs: [everywhere], kubevirtNamespace: 'kubevirt' };
    return report({ ...about, lock: LOCK, now: NOW }, [raised], reporter);
  });
  await Promise.all(reports);
  expect(asked.length).toBeLessThanOrEqual(700);
  expect(givenIn(model)?.length).toBeGreaterThan(0);
  expect(givenIn(model)?.length).toBeLessThanOrEqual(MAX_GIVEN);
  expect(logged).toEqual([]);
});
