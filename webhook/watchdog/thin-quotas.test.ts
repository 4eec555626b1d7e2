import { expect, test } from '@jest/globals';
import { aNamespace, aSizedLock, lockedBy } from '../../test/support/builders/namespace.ts';
import { NOW } from '../../test/support/builders/object.ts';
import { oversized } from '../../test/support/builders/oversized.ts';
import { aQuota, fencedBy, raisedFor, recounted, used } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import { loweredQuota } from '../../functions/domain/quota/lower.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { decide as decideLower } from '../../functions/lower/decide.ts';
import { decideSeen, grantShownBy } from '../../functions/lower/decide-seen.ts';
import { decide as decideRaise, raiseOf, type RaiseSnapshot } from '../../functions/raise/decide.ts';
import { writeAll } from '../../functions/raise/write.ts';
import { decide as decideUnlock } from '../../functions/unlock/decide.ts';
import { getQuota, LISTED_QUOTAS, thinned, writeQuota } from '../../functions/cluster/quotas.ts';

const LOCK = aSizedLock();
const FENCE = { token: LOCK.token, outcome: 'failed' } as const;
const RAISED = raisedFor(LOCK, aVmmrq())(aQuota());

/** Adds keys that are sorted before those of pods. */
function withStorageClasses({ spec, status, ...rest }: ResourceQuota): ResourceQuota {
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `class-${String(index)}.storageclass.storage.k8s.io/requests.storage`,
      '100Gi',
    ]),
  );
  return {
    ...rest,
    spec: { ...spec, hard: { ...many, ...spec.hard } },
    status: { hard: { ...many, ...status?.hard }, used: { ...many, ...status?.used } },
  };
}

const STATES: readonly [string, ResourceQuota][] = [
  ['not raised', aQuota()],
  ['raised', RAISED],
  ['in use', used({ 'requests.cpu': '2010m', pods: '2' })(RAISED)],
  ['recounted', recounted()(RAISED)],
  ['fenced', aQuota(fencedBy(LOCK.token))],
  ['raised, of 300 storage classes', withStorageClasses(RAISED)],
];
const thin = (quota: ResourceQuota): ResourceQuota => thinned(oversized(quota)).object;

const raiseSnapshot = (quotas: readonly ResourceQuota[]): RaiseSnapshot => ({
  ...{ namespace: 'tenant', token: LOCK.token, quotas, vmmrqs: [aVmmrq()], kubevirtNamespace: 'kubevirt' },
  lock: { ...LOCK, labels: {} },
  now: NOW,
});

/** Serves the stored quotas, by name. `max`: requests for one at the same time. */
function serving(...stored: readonly ResourceQuota[]): {
  readonly cluster: Cluster;
  readonly written: ResourceQuota[];
  readonly max: () => number;
} {
  const written: ResourceQuota[] = [];
  let [now, max] = [0, 0];
  const answer = async (object: ResourceQuota | undefined): Promise<object> => {
    max = Math.max(max, (now += 1));
    await new Promise(setImmediate);
    now -= 1;
    return { object, date: new Date(NOW) };
  };
  const cluster = {
    get: (_type: unknown, { name }: { name: string }) =>
      answer(stored.find(({ metadata }) => metadata.name === name)),
    replace: (_type: unknown, object: ResourceQuota, options: unknown) => {
      expect(options).toEqual({ subresource: 'status' });
      written.push(object);
      return answer(object);
    },
  };
  return { cluster: cluster as unknown as Cluster, written, max: () => max };
}

test.each(STATES)('the steps decide the same for a thin quota that is %s', (_what, quota) => {
  const [one, other] = [quota, thin(quota)];
  const lowered = (of: ResourceQuota): unknown =>
    decideLower({
      ...{ now: NOW + 5_000, namespace: aNamespace(lockedBy(LOCK)), quotas: [of], migrations: [] },
      ...{ targets: [], rejections: undefined, stallSeconds: 3, overdueToken: LOCK.token },
    });
  const unlocked = (of: ResourceQuota): unknown =>
    decideUnlock({ now: NOW, namespace: aNamespace(lockedBy(LOCK)), quotas: [of], token: LOCK.token });
  const seen = (of: ResourceQuota): unknown => {
    const grant = grantShownBy(of);
    return grant && decideSeen({ grant, quotas: [of], targets: [], now: NOW }).kind;
  };
  const raised = (of: ResourceQuota): unknown => {
    const { write, ...rest } = raiseOf(of, raiseSnapshot([of]));
    return [rest, write?.status, write?.metadata.annotations?.[ANNOTATION.grant]];
  };
  for (const decided of [lowered, unlocked, seen, raised]) expect(decided(other)).toEqual(decided(one));
});

test('a usual quota is whole, and a large one is thin', async () => {
  const large = oversized(RAISED);
  expect((await getQuota(serving(RAISED).cluster, RAISED.metadata)).object).toEqual(RAISED);
  const { object } = await getQuota(serving(large).cluster, large.metadata);
  expect(JSON.stringify(object).length).toBeLessThan(4_096);
  expect(object).toMatchObject({ spec: RAISED.spec, status: RAISED.status });
  expect(LISTED_QUOTAS.trim(large)?.object).toEqual(object);
});

test('no other annotation displaces the grant of a thin quota', () => {
  const theirs = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`key-${index}`, '1']));
  const many = { ...RAISED, spec: { hard: { ...theirs, ...RAISED.spec.hard } } };
  const { object, size } = thinned(oversized(many));
  expect(grantShownBy(object)).toEqual(grantShownBy(RAISED));
  expect(size).toBeLessThan(100 * 1024);
});

test('a large quota is written whole, and only the version that was read', async () => {
  const large = oversized(RAISED);
  const newer = { ...large, metadata: { ...large.metadata, resourceVersion: '99' } };
  const { cluster, written } = serving(newer);
  await writeQuota(cluster, thin(RAISED), (whole) => loweredQuota(whole, FENCE));
  expect(written).toEqual([loweredQuota(large, FENCE)]);
});

test('large quotas are written one after another', async () => {
  const all = Array.from({ length: 10 }, (_, index) => ({
    ...RAISED,
    metadata: { ...RAISED.metadata, name: `quota-${index}` },
  }));
  const { cluster, written, max } = serving(...all.map(oversized));
  await Promise.all(
    all.map((quota) => writeQuota(cluster, thin(quota), (whole) => loweredQuota(whole, FENCE))),
  );
  expect([written.length, max()]).toEqual([10, 1]);
});

test('raise writes a large quota whole, and keeps it thin', async () => {
  const large = oversized(aQuota());
  const { cluster, written } = serving(large);
  const snapshot = raiseSnapshot([thin(aQuota())]);
  const decision = decideRaise(snapshot);
  const writes = decision.kind === 'raise' ? decision.writes : [];
  const result = await writeAll(writes, snapshot, { cluster, isHeld: () => Promise.resolve(true) });
  expect(written).toEqual([raiseOf(large, snapshot).write]);
  expect(result).toMatchObject({ kind: 'done', quotas: [{ status: written[0]?.status }] });
  expect(JSON.stringify(result).length).toBeLessThan(4_096);
});
