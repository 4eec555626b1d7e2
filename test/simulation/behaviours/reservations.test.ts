import { describe, expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { EVENT, REASON, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type {
  ClusterVmmrq,
  KubernetesObject,
  Namespace,
  Reservation,
  ResourceList,
  ResourceQuota,
} from '../../../functions/domain/objects.ts';
import type { Outcome, StepContext } from '../../../functions/host/step.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import { CLUSTER_VMMRQS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { lock } from '../../../functions/lock/handle.ts';
import { lower } from '../../../functions/lower/handle.ts';
import { unlock } from '../../../functions/unlock/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { seconds } from '../../support/builders/object.ts';
import { aGrant, holding } from '../../support/builders/quota.ts';
import { aReservation, aView } from '../../support/builders/snapshot.ts';
import type { Model } from '../model/model.ts';
import type { Point } from '../model/request.ts';
import { clusterVmmrq, quota, TENANT, tenantNamespace } from '../world/objects.ts';
import { aBlockedTenant, GIVES, raiseFor, runStep } from '../world/one-step.ts';

const CPU = { 'requests.cpu': '1' };
const context: Partial<StepContext> = { view: () => Promise.resolve(aView({ clusterWide: true })) };

/** Writes and live reads of namespaces and cluster-wide VMMRQs, in their order. */
interface Seen {
  readonly model: Model;
  readonly asked: string[];
  /** Runs before a request of this text is answered, once. */
  before: { text: string; work: () => Promise<unknown> } | undefined;
}

const textOf = ({ verb, kind, name = '' }: Point): string =>
  `${verb} ${kind === CLUSTER_VMMRQS.kind ? 'VMMRQ' : kind} ${name}`;

interface Given {
  readonly reserved?: Reservation[];
  /** null: none. */
  readonly total?: ResourceList | null;
}

/** A blocked tenant, and the cluster-wide VMMRQ `everywhere`, by default with a total for one migration. */
function aWorld({ reserved = [], total = CPU }: Given = {}): Seen {
  const asked: string[] = [];
  const seen: { before: Seen['before'] } = { before: undefined };
  const model = aBlockedTenant({
    pace: async (point) => {
      const isOurs = point.user.includes(SERVICE_ACCOUNT.lock) || point.user.includes(SERVICE_ACCOUNT.unlock);
      const isRead = point.verb === 'get' && point.phase === 'arrive';
      const isWrite = point.verb === 'replace' && point.phase === 'commit';
      if (!isOurs || !(isRead || isWrite)) return;
      if (![CLUSTER_VMMRQS.kind, NAMESPACES.kind].includes(point.kind)) return;
      asked.push(textOf(point));
      const { before } = seen;
      if (before?.text !== textOf(point)) return;
      seen.before = undefined;
      await before.work();
    },
  });
  const spec = { namespaceSelector: {}, ...GIVES, purposes: ['UserRequested'] };
  const made = clusterVmmrq('uid-of-everywhere', { ...spec, ...(total === null ? {} : { total }) });
  model.store.put<ClusterVmmrq>({ ...made, status: { reserved } });
  return Object.assign(seen, { model, asked });
}

const acquire = ({ model }: Seen, token = 'token', more: Partial<StepContext> = {}): Promise<Outcome> =>
  runStep(
    lock,
    { ...model, context: { ...context, newToken: () => token, ...more } },
    { type: EVENT.migrationFeasible, id: 'event-1', namespace: TENANT },
  );

const reservedIn = ({ model: { store } }: Seen): string[] => {
  const found = store.get<ClusterVmmrq>({ kind: CLUSTER_VMMRQS.kind, name: 'everywhere' });
  return (found?.status?.reserved ?? []).map(
    ({ namespace, token, closed }) => `${namespace} ${token}${closed === true ? ' closed' : ''}`,
  );
};
const tokenIn = ({ model: { store } }: Seen): string | undefined => {
  const found = store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT });
  const state = found === undefined ? undefined : lockOf(found);
  return state?.kind === 'held' ? state.lock.token : undefined;
};

describe('a lock is entered in the VMMRQ before it is set', () => {
  test('where the total leaves room', async () => {
    const seen = aWorld();
    expect((await acquire(seen)).reply?.type).toBe(EVENT.namespaceLocked);
    expect(seen.asked).toEqual([
      `get Namespace ${TENANT}`,
      'get VMMRQ everywhere',
      'replace VMMRQ everywhere',
      `replace Namespace ${TENANT}`,
    ]);
    expect([reservedIn(seen), tokenIn(seen)]).toEqual([[`${TENANT} token`], 'token']);
  });

  test('again after another lock was entered first, and not where that one has the rest', async () => {
    for (const amount of ['1m', '1']) {
      const seen = aWorld({ total: { 'requests.cpu': '1001m' } });
      const enterOther = (): Promise<void> => {
        const { store } = seen.model;
        const now = store.get<ClusterVmmrq>({ kind: CLUSTER_VMMRQS.kind, name: 'everywhere' });
        const reserved = [aReservation({ amounts: { 'requests.cpu': amount }, until: seconds(9) })];
        if (now !== undefined) store.put<ClusterVmmrq>({ ...now, status: { reserved } });
        return Promise.resolve();
      };
      seen.before = { text: 'replace VMMRQ everywhere', work: enterOther };
      const { reason, reply } = await acquire(seen);
      const isRoom = amount === '1m';
      expect(reason).toBe(isRoom ? REASON.locked : REASON.totalReached);
      expect(reply?.type).toBe(isRoom ? EVENT.namespaceLocked : EVENT.migrationInfeasible);
      expect(reservedIn(seen)).toEqual(['other token-0', ...(isRoom ? [`${TENANT} token`] : [])]);
      expect(tokenIn(seen)).toBe(isRoom ? 'token' : undefined);
    }
  });

  test('without a request where the VMMRQ has no total', async () => {
    const seen = aWorld({ total: null });
    await acquire(seen);
    expect(seen.asked).toEqual([`get Namespace ${TENANT}`, `replace Namespace ${TENANT}`]);
  });

  test('and leaves no entry where another writer changed the namespace first', async () => {
    const seen = aWorld();
    const touch = (): Promise<unknown> => {
      seen.before = { text: `replace Namespace ${TENANT}`, work: touch };
      const labels = { touched: String(seen.asked.length) };
      return seen.model.admin.patch(NAMESPACES, { name: TENANT }, { merge: { metadata: { labels } } });
    };
    seen.before = { text: `replace Namespace ${TENANT}`, work: touch };
    await expect(acquire(seen)).rejects.toThrow('at each attempt to lock it');
    expect([reservedIn(seen), tokenIn(seen)]).toEqual([[], undefined]);
  });

  test('in several VMMRQs, or in none of them', async () => {
    const seen = aWorld();
    const spec = { namespaceSelector: {}, ...GIVES, purposes: ['UserRequested'], total: CPU };
    const full = clusterVmmrq('uid-of-full', spec);
    const reserved = [aReservation({ until: seconds(9) })];
    // `lock` has an old list, where it is not full.
    seen.model.store.put<ClusterVmmrq>({ ...full, metadata: { ...full.metadata, name: 'full' } });
    seen.before = {
      text: 'get VMMRQ everywhere',
      work: () => {
        const stored = { ...full, metadata: { ...full.metadata, name: 'full' }, status: { reserved } };
        seen.model.store.put<ClusterVmmrq>(stored);
        return Promise.resolve();
      },
    };
    expect((await acquire(seen)).message).toContain('cvmmrq/full');
    expect([reservedIn(seen), tokenIn(seen)]).toEqual([[], undefined]);
  });
});

describe('an entry past its time', () => {
  const OLD = aReservation({ amounts: CPU, until: seconds(-1) });
  const put = ({ model }: Seen, ...objects: KubernetesObject[]): void => {
    for (const object of objects) model.store.put(object);
  };
  const other = tenantNamespace('uid-of-other', 'other');
  const otherQuota = { ...quota('quota', 'uid-of-other-quota', CPU) };
  const raised = holding(aGrant({ token: 'token-0' }))({
    ...otherQuota,
    metadata: { ...otherQuota.metadata, namespace: 'other' },
  });

  test('is closed, and then removed, where its lock never came', async () => {
    const seen = aWorld({ reserved: [OLD] });
    put(seen, other);
    expect((await acquire(seen)).reason).toBe(REASON.locked);
    expect(seen.asked).toEqual([
      `get Namespace ${TENANT}`,
      ...['get VMMRQ everywhere', 'replace VMMRQ everywhere'],
      ...['get VMMRQ everywhere', 'get Namespace other', 'replace VMMRQ everywhere'],
      ...['get VMMRQ everywhere', 'replace VMMRQ everywhere'],
      `replace Namespace ${TENANT}`,
    ]);
    expect(reservedIn(seen)).toEqual([`${TENANT} token`]);
  });

  test('is removed where its namespace is gone', async () => {
    const seen = aWorld({ reserved: [OLD] });
    expect((await acquire(seen)).reason).toBe(REASON.locked);
  });

  test.each<[string, KubernetesObject[]]>([
    ['its lock is there', [lockedBy(aLock({ token: 'token-0' }))(other)]],
    ['a quota is raised for it', [other, raised]],
  ])('is closed, and stays, where %s', async (_, objects) => {
    const seen = aWorld({ reserved: [OLD] });
    put(seen, ...objects);
    expect((await acquire(seen)).reason).toBe(REASON.totalReached);
    expect(reservedIn(seen)).toEqual(['other token-0 closed']);
  });

  test('is left alone where there is room beside it', async () => {
    const seen = aWorld({ reserved: [OLD], total: { 'requests.cpu': '3' } });
    expect((await acquire(seen)).reason).toBe(REASON.locked);
    expect(reservedIn(seen)).toEqual(['other token-0', `${TENANT} token`]);
  });

  // Without the close the raise would rely on the entry, and the removal would come after it. No clock may decide that.
  test('is no ground for a raise once it is closed: a late lock ends, although it is live by its own clock', async () => {
    const seen = aWorld({ reserved: [OLD] });
    const { model } = seen;
    const late = aLock({
      token: 'token-0',
      quotas: [{ name: 'quota', uid: 'uid-of-other-quota' }],
      migrations: [{ name: 'mig', uid: 'uid-of-mig', vmi: 'uid-of-vm', purpose: 'UserRequested' }],
      vmmrqs: ['cvmmrq/everywhere'],
    });
    const namespace = lockedBy(late)(other);
    const status = { hard: CPU, used: CPU };
    put(seen, other, {
      ...otherQuota,
      metadata: { ...otherQuota.metadata, namespace: 'other' },
      status,
    } as ResourceQuota);
    const outcomes: Outcome[] = [];
    const lockAndRaise = async (): Promise<void> => {
      model.store.put(namespace);
      outcomes.push(await raiseFor(namespace, { ...model, context }));
    };
    // The namespace was read without the lock, and the entry is about to be removed.
    seen.before = {
      text: 'get Namespace other',
      work: () => {
        seen.before = { text: 'replace VMMRQ everywhere', work: lockAndRaise };
        return Promise.resolve();
      },
    };
    expect((await acquire(seen)).reason).toBe(REASON.locked);
    expect(outcomes.map(({ reason }) => reason)).toEqual([REASON.totalReached]);
    const after = model.store.get<ResourceQuota>({
      kind: 'ResourceQuota',
      namespace: 'other',
      name: 'quota',
    });
    expect(after?.status?.hard).toEqual(CPU);
  });
});

describe('unlock', () => {
  const about = { id: 'event-1', namespace: TENANT, token: 'token' };
  async function lowered(seen: Seen): Promise<void> {
    await acquire(seen);
    seen.model.clock.now += 31_000;
    await runStep(lower, seen.model, { type: EVENT.lockExpired, ...about });
    seen.asked.length = 0;
  }

  test('removes the entry before it unlocks the namespace', async () => {
    const seen = aWorld();
    await lowered(seen);
    await runStep(unlock, seen.model, { type: EVENT.quotaLowered, ...about });
    expect(seen.asked).toEqual([
      `get Namespace ${TENANT}`,
      'get VMMRQ everywhere',
      'replace VMMRQ everywhere',
      `replace Namespace ${TENANT}`,
    ]);
    expect([reservedIn(seen), tokenIn(seen)]).toEqual([[], undefined]);
  });

  test('unlocks although the entry cannot be removed', async () => {
    const seen = aWorld();
    await lowered(seen);
    const lost = (): Promise<never> => Promise.reject(new Unreachable('GET: lost'));
    seen.before = { text: 'get VMMRQ everywhere', work: lost };
    const { reason } = await runStep(unlock, seen.model, { type: EVENT.quotaLowered, ...about });
    expect([reason, tokenIn(seen)]).toEqual([REASON.unlocked, undefined]);
    expect(reservedIn(seen)).toEqual([`${TENANT} token`]);
  });

  test('leaves the entry while a quota is not lowered', async () => {
    const seen = aWorld();
    await acquire(seen);
    seen.asked.length = 0;
    await runStep(unlock, seen.model, { type: EVENT.quotaLowered, ...about });
    expect(reservedIn(seen)).toEqual([`${TENANT} token`]);
  });
});
