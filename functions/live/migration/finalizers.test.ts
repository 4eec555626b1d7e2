import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration, aProvider, begunWith, held } from '../../../test/support/builders/live.ts';
import { atVersion, seconds, withUid } from '../../../test/support/builders/object.ts';
import type { PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { isClosed } from '../run/state.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { FoundProvider } from '../read/providers.ts';
import { closeMigration, addFinalizers, removeFinalizers } from './finalizers.ts';

const stored = (_type: unknown, object: KubernetesObject): Promise<object> => Promise.resolve({ object });
const HUB = { replace: stored } as unknown as Cluster;

test.each([
  ['is the owner of its Migration', 'tenant', ['uid-of-plan']],
  ['in another namespace is not: Kubernetes would delete the Migration', 'plans', []],
])('a Plan %s', async (_what, namespace, owners) => {
  const plan = aPlan((one) => ({ ...one, metadata: { ...one.metadata, namespace } }));
  const { migration } = await addFinalizers(
    { migration: aPlanMigration(), plan, providers: {} as never },
    HUB,
  );
  const { ownerReferences = [] } = migration.metadata;
  expect(ownerReferences.map(({ uid }) => uid)).toEqual(owners);
});

const HELD_PLAN = aPlan(held);
const HELD_MIGRATION = aPlanMigration(held, atVersion('7'));
const COPY = aPlanMigration(held, withUid('uid-of-other'));
const OTHER = begunWith()(COPY);
const OVER: PlanMigration = {
  ...OTHER,
  metadata: { ...OTHER.metadata, annotations: { [LIVE_ANNOTATION.over]: OTHER.metadata.uid } },
  status: { completed: seconds(0) },
};

test.each<[string, readonly PlanMigration[], readonly string[]]>([
  ['removes the finalizer of its Plan first', [HELD_MIGRATION], ['Plan', 'Migration']],
  ['keeps the Plan of another run, which may be about to begin', [HELD_MIGRATION, OTHER], ['Migration']],
  [
    'keeps the Plan of a run whose finalizer a user removed',
    [HELD_MIGRATION, { ...aPlanMigration(withUid('uid-of-other')), status: { started: seconds(0) } }],
    ['Migration'],
  ],
  [
    'removes the finalizer of its Plan if another Migration has only a copied finalizer',
    [HELD_MIGRATION, COPY],
    ['Plan', 'Migration'],
  ],
  ['removes the finalizer of its Plan if the other is over', [HELD_MIGRATION, OVER], ['Plan', 'Migration']],
])('a run that is over %s', async (_what, items, writes) => {
  const written: string[] = [];
  const hub = {
    list: () => Promise.resolve({ items }),
    get: ({ kind }: { readonly kind: string }) =>
      Promise.resolve({ object: kind === 'Plan' ? HELD_PLAN : HELD_MIGRATION }),
    replace: ({ kind }: { readonly kind: string }, object: KubernetesObject) => {
      written.push(kind);
      return Promise.resolve({ object });
    },
  } as unknown as Cluster;
  const log = (): void => undefined;
  await removeFinalizers({ migration: HELD_MIGRATION, plan: HELD_PLAN, providers: [] }, {
    hub,
    log,
  } as never);
  expect(written).toEqual(writes);
});

/** Removes the finalizer of a Plan beside these Migrations; resolves with how many Plans were read, and how many of them at a time. */
async function readBeside(items: readonly PlanMigration[]): Promise<{ all: number; atATime: number }> {
  let open = 0;
  const opened: number[] = [];
  const hub = {
    ...{ list: () => Promise.resolve({ items }), replace: stored },
    get: async () => {
      opened.push((open += 1));
      await Promise.resolve();
      open -= 1;
      return { object: HELD_PLAN };
    },
  } as unknown as Cluster;
  const log = (): void => undefined;
  await removeFinalizers({ migration: undefined, plan: HELD_PLAN, providers: [] }, { hub, log } as never);
  return { all: opened.length, atATime: Math.max(0, ...opened) };
}

test.each<[string, (n: number) => PlanMigration, object]>([
  ['that wait with a copied finalizer: no Plan is read', () => COPY, { all: 0, atATime: 0 }],
  ['of one Plan: it is read once', () => OTHER, { all: 1, atATime: 1 }],
  [
    'of as many Plans: twenty are read at a time',
    (n) => ({ ...OTHER, spec: { plan: { name: `plan-${String(n)}` } } }),
    { all: 2_000, atATime: 20 },
  ],
])('beside 2,000 Migrations %s', async (_what, migration, read) => {
  expect(await readBeside(Array.from({ length: 2_000 }, (_, n) => migration(n)))).toEqual(read);
});

test('a Migration of another type, which has the finalizer from a copy, is let go without a list', async () => {
  const list = (): never => {
    throw new Error('listed');
  };
  const hub = { list, replace: stored } as unknown as Cluster;
  const log = (): void => undefined;
  const copy = { migration: COPY, plan: undefined, providers: [] };
  await expect(removeFinalizers(copy, { hub, log } as never)).resolves.toBeUndefined();
});

/** Removes the finalizers of the run; resolves with the requests after the lists. `read`: the Plan as the run has read it. */
async function released(read = HELD_PLAN, isPlanGone = false): Promise<string[]> {
  const requests: string[] = [];
  const hub = {
    list: () => Promise.resolve({ items: [HELD_MIGRATION] }),
    get: ({ kind }: { readonly kind: string }) => {
      requests.push(`GET ${kind}`);
      return Promise.resolve({ object: HELD_PLAN });
    },
    replace: ({ kind }: { readonly kind: string }, object: KubernetesObject) => {
      requests.push(`PUT ${kind} ${object.metadata.resourceVersion}`);
      return isPlanGone && kind === 'Plan'
        ? Promise.reject(new ApiError('replace', { code: 404, reason: 'NotFound' }, new Date(0)))
        : Promise.resolve({ object });
    },
  } as unknown as Cluster;
  const log = (): void => undefined;
  await removeFinalizers({ migration: HELD_MIGRATION, plan: read, providers: [] }, { hub, log } as never);
  return requests;
}
const WRITTEN = [`PUT Plan ${HELD_PLAN.metadata.resourceVersion}`, 'PUT Migration 7'];

test('finalizers are removed by the versions that the run has read', async () => {
  expect(await released()).toEqual(WRITTEN);
});

test('an object that had no finalizer when it was read is read again', async () => {
  expect(await released(aPlan())).toEqual(['GET Plan', ...WRITTEN]);
});

test('an object that is gone by now holds up no other one', async () => {
  expect(await released(HELD_PLAN, true)).toEqual(WRITTEN);
});

test('a run is closed by the version of the status that was written', async () => {
  const closed = await closeMigration({ ...HELD_MIGRATION, status: { completed: seconds(0) } }, HUB);
  expect(closed.metadata.resourceVersion).toBe('7');
  expect(isClosed(closed)).toBe(true);
});

const NOT_REACHED = { secret: undefined, secretObject: undefined, cluster: undefined, allowLoopback: false };

test('where Secrets may not be read, the advice names those of the Providers that go, and of no other', async () => {
  const advice: unknown[] = [];
  const get = ({ kind }: { readonly kind: string }): Promise<object> =>
    Promise.resolve({ object: kind === 'Plan' ? aPlan() : aProvider() });
  const list = ({ kind }: { readonly kind: string }): Promise<object> =>
    kind === 'Secret'
      ? Promise.reject(new ApiError('list', { code: 403, reason: 'Forbidden' }, new Date()))
      : Promise.resolve({ items: kind === 'Migration' ? [OTHER] : [] });
  const log = (_level: string, _message: string, { secrets }: { readonly secrets: string }): void => {
    advice.push(secrets);
  };
  const [needed, own] = [aProvider('source'), aProvider('own')];
  const providers = [needed, own].map((provider): FoundProvider => ({ ...NOT_REACHED, provider }));
  const hub = { get, list, replace: stored } as unknown as Cluster;
  await removeFinalizers({ migration: undefined, plan: undefined, providers }, { hub, log } as never);
  expect(advice).toEqual(['own']);
});
