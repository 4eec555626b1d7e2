import { beforeEach, describe, expect, test } from '@jest/globals';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import type { KubernetesObject, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { feasibility } from '../../../functions/feasibility/handle.ts';
import { newExclusively } from '../../../functions/host/exclusive.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { KeyedSerializer } from '../../../functions/runtime/keyed-serializer.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { NOW, seconds } from '../../support/builders/object.ts';
import type { Model } from '../model/model.ts';
import {
  LAUNCHER,
  launcherPod,
  migration,
  quota,
  refused,
  running,
  TENANT,
  vmi,
  vmmrq,
} from '../world/objects.ts';
import { aBlockedTenant, FULL, give, runStep } from '../world/one-step.ts';
import { Time } from '../engine/time.ts';

/** One process of feasibility gets many events of one namespace, whose headroom may come back at any moment. */

const OTHER = 'other';
const LITTLE = { additionalMigrationResources: { 'requests.cpu': '1m' } };

/** One entry for each time that feasibility reads a whole namespace. */
let looks: string[];
/** A look that reads the namespace, which is after it has listed the migrations, goes on when this resolves. */
let onLook: () => Promise<undefined>;
let model: Model;
let time: Time;
let process: Parameters<typeof runStep>[1];

/** Resolves when no more work can run without the clock. */
const macrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function advance(ms: number): Promise<void> {
  const until = time.now + ms;
  await macrotask();
  for (let work = time.popDue(until); work !== undefined; work = time.popDue(until)) {
    work();
    await macrotask();
  }
  time.now = until;
}

/** The tenant's other VM migrated `ago` seconds ago, and both of its pods still exist. */
function succeeded(ago: number): void {
  const vm = vmi('vm1', 'uid-of-vm1');
  const { metadata, ...rest } = refused(migration('mig1', 'vm1'), 'uid-of-mig1');
  const at = { phase: 'Succeeded', phaseTransitionTimestamp: seconds(-ago) };
  const ended = { ...rest, metadata, status: { phase: 'Succeeded', phaseTransitionTimestamps: [at] } };
  const target = launcherPod(vm, { migration: ended, requests: LAUNCHER });
  target.metadata = { ...target.metadata, name: 'target', uid: 'uid-of-target' };
  for (const object of [vm, ended, running(launcherPod(vm, { requests: LAUNCHER })), running(target)]) {
    model.store.put(object);
  }
}

/** Copies the namespace's objects to another namespace. */
function copy(): void {
  const kinds = [KIND.migration.kind, KIND.vmi.kind, KIND.vmmrq.kind, 'Pod', 'ResourceQuota'];
  const own = kinds.flatMap((kind) => model.store.list<KubernetesObject>(kind, TENANT));
  for (const object of own) {
    model.store.put({ ...object, metadata: { ...object.metadata, namespace: OTHER } });
  }
  const namespace = model.store.get({ kind: NAMESPACES.kind, name: TENANT });
  if (namespace !== undefined) {
    model.store.put({ ...namespace, metadata: { ...namespace.metadata, name: OTHER, uid: 'uid-of-other' } });
  }
}

let count = 0;

function countAs(used: ResourceList): void {
  const counted: ResourceQuota = { ...quota('quota', 'uid-of-quota', FULL), status: { hard: FULL, used } };
  model.store.put(counted);
}

/** Changes status.used, which every waiting run sees. */
const recount = (): void => countAs({ ...FULL, 'requests.memory': `${String((count += 1))}Mi` });

/** Of a migration that changed, without its state; by default. */
const requestFor = (namespace: string, type: string = SOURCE_EVENT.update): StepRequest => ({
  type,
  id: 'event-1',
  namespace,
  ...(type === SOURCE_EVENT.update ? { kind: KIND.migration.kind } : {}),
});

/** The event's outcome, as soon as it is known. */
function send(namespace: string, type?: string): { outcome?: Outcome } {
  const sent: { outcome?: Outcome } = {};
  void runStep(feasibility, process, requestFor(namespace, type)).then((outcome) => (sent.outcome = outcome));
  return sent;
}

const sendMany = (namespace: string, events = 20): { outcome?: Outcome }[] =>
  Array.from({ length: events }, () => send(namespace));

const stillRunning = (sent: readonly { outcome?: Outcome }[]): number =>
  sent.filter(({ outcome }) => outcome === undefined).length;

beforeEach(() => {
  looks = [];
  onLook = () => Promise.resolve(undefined);
  time = new Time();
  time.now = NOW;
  model = aBlockedTenant({
    pace: ({ verb, kind, name = '', phase }) => {
      if (verb !== 'get' || kind !== NAMESPACES.kind || phase !== 'arrive') return Promise.resolve();
      looks.push(name);
      return onLook();
    },
  });
  const clock = {
    elapsed: () => time.now,
    now: () => new Date(time.now),
    after: (ms: number, work: () => void) => time.after(ms, work),
  };
  process = {
    ...model,
    context: { clock, exclusively: newExclusively(), looks: new KeyedSerializer(clock) },
  };
});

test('one run of each namespace waits, and all others answer at once', async () => {
  model.store.put(vmmrq('more', 'uid-of-more', LITTLE));
  succeeded(1);
  copy();
  const sent = sendMany(TENANT);
  await advance(0);
  expect(stillRunning(sent)).toBe(1);
  expect(sent[1]?.outcome).toMatchObject({ reason: REASON.afterOthers });
  const other = sendMany(OTHER);
  await advance(0);
  expect(stillRunning(other)).toBe(1);
  await advance(8_000);
  expect(stillRunning([...sent, ...other])).toBe(0);
  const again = sendMany(TENANT);
  await advance(0);
  expect(stillRunning(again)).toBe(1);
});

test('the waiting run reads at most every 250 ms, however often the quota changes', async () => {
  model.store.put(vmmrq('more', 'uid-of-more', LITTLE));
  succeeded(1);
  const sent = send(TENANT);
  for (let change = 0; change < 100; change += 1) {
    await advance(10);
    recount();
  }
  await advance(0);
  expect(looks.length).toBeGreaterThan(2);
  expect(looks.length).toBeLessThanOrEqual(5);
  expect(sent.outcome).toBeUndefined();
});

test('the waiting run sees at once that headroom came back', async () => {
  model.store.put(vmmrq('more', 'uid-of-more', LITTLE));
  succeeded(1);
  const sent = send(TENANT);
  await advance(1_000);
  countAs({ 'requests.cpu': '0', 'requests.memory': '0' });
  await advance(0);
  expect(sent.outcome).toMatchObject({ reason: REASON.fits });
});

describe('a run after `lock` has declined', () => {
  beforeEach(() => {
    give(model);
    succeeded(1);
    countAs({ 'requests.cpu': '2', 'requests.memory': '2Gi' });
  });

  test.each([10, 1_000])(
    'goes on at once, without another look, where a quota has changed %d ms later: `lock` has not seen that',
    async (ms) => {
      const sent = send(TENANT, EVENT.migrationInfeasible);
      await advance(ms);
      expect(sent.outcome).toBeUndefined();
      countAs(FULL);
      await advance(0);
      expect(sent.outcome?.reply?.type).toBe(EVENT.migrationFeasible);
      expect(looks).toHaveLength(1);
    },
  );

  test('looks again where not enough has come back', async () => {
    const sent = send(TENANT, EVENT.migrationInfeasible);
    await advance(1_000);
    countAs({ 'requests.cpu': '2', 'requests.memory': '3Gi' });
    await advance(0);
    expect(sent.outcome).toBeUndefined();
    expect(looks).toHaveLength(2);
  });

  test.each([
    ['nothing has changed', () => undefined],
    ['`lock` has seen it already', () => countAs(FULL)],
  ])('only reports where %s', async (_what, change) => {
    change();
    const sent = send(TENANT, EVENT.migrationInfeasible);
    await advance(8_000);
    expect(sent.outcome).toBeDefined();
    expect(sent.outcome?.reply).toBeUndefined();
  });
});

test.each<[string, () => void]>([
  ['the success is an hour old', () => succeeded(3_600)],
  ['nothing has succeeded', () => undefined],
])('no run waits where %s', async (_, prepare) => {
  model.store.put(vmmrq('more', 'uid-of-more', LITTLE));
  prepare();
  const sent = sendMany(TENANT);
  await advance(0);
  expect(stillRunning(sent)).toBe(0);
  // The first one, and one that all others share.
  expect(looks).toHaveLength(2);
});

test('no run waits where the namespace has no VMMRQ', async () => {
  succeeded(1);
  const sent = sendMany(TENANT);
  await advance(0);
  expect(stillRunning(sent)).toBe(0);
});

test('equal events share the look that begins after them: each is answered, and one of them reports', async () => {
  give(model);
  let reports = 0;
  process = { ...process, context: { ...process.context, inBackground: () => void (reports += 1) } };
  const sent = sendMany(TENANT, 50);
  await advance(0);
  expect(looks).toHaveLength(2);
  const reasons = sent.map(({ outcome }) => outcome?.reason);
  expect(new Set(reasons)).toEqual(new Set([REASON.fitsWithRaise]));
  expect(sent.filter(({ outcome }) => outcome?.reply !== undefined)).toHaveLength(50);
  expect(reports).toBe(2);
});

test('a shared look has a migration that was created while it waited for the one before', async () => {
  give(model);
  const held = Promise.withResolvers<undefined>();
  onLook = () => (looks.length > 1 ? Promise.resolve(undefined) : held.promise);
  const first = send(TENANT);
  await advance(0);
  const second = send(TENANT);
  await advance(0);
  model.store.put(refused(migration('mig1', 'vm0'), 'uid-of-mig1'));
  const third = send(TENANT);
  await advance(0);
  held.resolve(undefined);
  await advance(0);
  expect(looks).toHaveLength(2);
  expect(first.outcome?.message).not.toContain('mig1');
  for (const { outcome } of [second, third]) expect(outcome?.message).toContain('mig1');
});
