import { describe, expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi } from '../../support/builders/live-run.ts';
import { aPlan, aVm } from '../../support/builders/live.ts';
import { seconds } from '../../support/builders/object.ts';
import { mergePatch } from '../model/merge-patch.ts';
import { conditionsOf, ModelledRun } from './modelled-run.ts';
import type { PlanMigration, VmStatus } from '../../../functions/domain/live/forklift.ts';
import type { VirtualMachine } from '../../../functions/domain/live/kubevirt.ts';
import { withRecord, type RunRecord } from '../../../functions/domain/live/run-record.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { EVENTS, KUBEVIRTS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import {
  LIVE_ANNOTATION,
  LIVE_FINALIZER,
  LIVE_KIND,
  LIVE_LABEL,
} from '../../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import {
  FORKLIFT_CONTROLLERS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
  STORAGE_CLASSES,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../functions/kubernetes/live-resources.ts';

const HELD = [
  'Migration migration',
  'Plan plan',
  ...['Provider destination', 'Provider source', 'Secret destination', 'Secret source'],
];
const MARK = { mark: 'GuestReady', at: seconds(0) } as const;
const always = (vm: VirtualMachine): VirtualMachine => ({
  ...vm,
  spec: { ...vm.spec, runStrategy: 'Always' },
});
const END = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;

describe('a run that is given up', () => {
  test('says how, while a cluster does not answer', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    const { status, metadata } = await run.migration();
    expect(status?.vms?.[0]?.conditions).toMatchObject([
      {
        reason: 'ClusterUnknown',
        message: expect.stringContaining(
          'Only if a cluster is gone for good: kubectl annotate migrations.forklift.konveyor.io migration -n tenant ' +
            `live.mtq.kubevirt.io/break-glass=${metadata.uid}`,
        ),
      },
    ]);
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('ends after a minute without an answer: nothing is held, and nothing was written on the other cluster', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    await run.breakGlass();
    const { revision } = run.models.destination.store;
    await run.changed('Migration');
    expect((await run.held()).sort()).toEqual(HELD);
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toContain('Failed');
    expect(conditionsOf(status?.vms?.[0])).toEqual(['Failed GivenUp']);
    expect(status?.leftovers).toContain('perhaps the record of VirtualMachine vms/web');
    expect(run.posted.map(({ type }) => type)).toContain('io.kubevirt.mtq.live.failed');
    expect(run.models.destination.store.revision).toBe(revision);
    expect(await run.isRecorded()).toBe(true);
  });

  test('ends too where a Provider was removed in spite of its finalizer', async () => {
    const run = await ModelledRun.start();
    const at = { namespace: 'tenant', name: 'source' };
    await run.hub.patch(PROVIDERS, at, { merge: { metadata: { finalizers: null } } });
    await run.hub.delete(PROVIDERS, at);
    await run.sweep();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Failed GivenUp']);
  });

  test('leaves no Secret held where the Providers refer to other ones by now', async () => {
    const run = await ModelledRun.start();
    for (const name of ['source', 'destination']) {
      const merge = { spec: { secret: { name: 'none', namespace: 'tenant' } } };
      await run.hub.patch(PROVIDERS, { namespace: 'tenant', name }, { merge });
    }
    await run.sweep();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
  });

  test('is canceled where both clusters answer', async () => {
    const run = await ModelledRun.start();
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status?.vms?.[0])).toEqual(['Canceled GivenUp']);
    expect(status).not.toHaveProperty('leftovers');
    expect(await run.isRecorded()).toBe(false);
  });

  test('leaves what it had left over', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: END });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
    await run.sweep();
    const left = ['VirtualMachine target/web'];
    expect((await run.migration()).status?.leftovers).toEqual(left);
    expect((await run.held()).sort()).toEqual(HELD);
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.leftovers).toEqual(left);
    expect(await run.onTarget()).toEqual(['web']);
  });
});

describe('a record that the source does not let the run take off', () => {
  const answer = (code: number, reason: string): ApiError =>
    new ApiError('the request', { code, reason, message: 'the policy says no' }, new Date(0));
  const isRelease = ({ metadata }: KubernetesObject): boolean =>
    metadata.annotations?.[LIVE_ANNOTATION.run] === undefined;

  test.each([false, true])('is left over until it does; given up: %s', async (isGivenUp) => {
    const run = await ModelledRun.start();
    run.refusesPut = (object) => (isRelease(object) ? answer(403, 'Forbidden') : undefined);
    if (isGivenUp) await run.breakGlass();
    else await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.sweep();
    expect((await run.migration()).status?.leftovers).toEqual([
      expect.stringMatching(
        /^the record of VirtualMachine vms\/web: replace of .* is refused: .*the policy says no$/,
      ),
    ]);
    expect((await run.held()).sort()).toEqual(isGivenUp ? [] : HELD);
    run.refusesPut = () => undefined;
    await run.sweep();
    expect(await run.isRecorded()).toBe(isGivenUp);
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.leftovers ?? []).toHaveLength(isGivenUp ? 1 : 0);
  });

  test('because KubeVirt writes the VM at the same time: it is taken off, also of a run that is given up', async () => {
    const run = await ModelledRun.start();
    let conflicts = 1;
    run.refusesPut = (object) => {
      if (!isRelease(object) || conflicts === 0) return undefined;
      conflicts -= 1;
      return answer(409, 'Conflict');
    };
    await run.breakGlass();
    await run.sweep();
    expect(conflicts).toBe(0);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
  });
});

describe('events that the Broker did not take', () => {
  /** To the end; with the events that were to be posted. */
  async function ended(isBrokerAway: boolean): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    run.isBrokerAway = isBrokerAway;
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.sweep();
    expect((await run.migration()).status?.completed).toBeDefined();
    return run;
  }
  const kindsOf = (run: ModelledRun): string[] => run.posted.map(({ type }) => type);

  test('are posted after the end, all of them and in order, and once', async () => {
    const run = await ended(true);
    expect(run.posted).toEqual([]);
    expect(await run.held()).toEqual([]);
    await run.sweep();
    expect(run.posted).toEqual([]);
    run.isBrokerAway = false;
    await run.sweep();
    expect(kindsOf(run)).toEqual(kindsOf(await ended(false)));
    expect(kindsOf(run)).toContain('io.kubevirt.mtq.live.canceled');
    expect((await run.migration()).status).not.toHaveProperty('outbox');
    await run.sweep();
    expect(kindsOf(run)).toEqual(kindsOf(await ended(false)));
  });

  test.each([
    ['of another Migration', { data: { migration: { uid: 'other' } } }],
    ['of another type', { type: 'io.kubevirt.mtq.lock.expired' }],
  ])('an entry %s, which somebody has written, is dropped', async (_, change) => {
    const run = await ended(true);
    const { status } = await run.migration();
    const [entry] = status?.outbox ?? [];
    expect(entry).toBeDefined();
    const outbox = [mergePatch(entry, change)];
    await run.hub.patch(
      PLAN_MIGRATIONS,
      { namespace: 'tenant', name: 'migration' },
      { merge: { status: { outbox } }, subresource: 'status' },
    );
    run.isBrokerAway = false;
    await run.sweep();
    expect(run.posted).toEqual([]);
    expect((await run.migration()).status).not.toHaveProperty('outbox');
  });
});

describe('a VM that has ended, while another one is under way', () => {
  const AT = { namespace: 'vms', name: 'worker' };

  /** `web` is under way, and `worker` has ended as this. */
  async function startBeside(type: 'Succeeded' | 'Canceled'): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    await run.sweep();
    const vm = { ...LIVE_KIND.vm, spec: aVm().spec, metadata: AT };
    const { object } = await run.models.source.admin.create(VIRTUAL_MACHINES, vm);
    const time = seconds(0);
    const ended: VmStatus = {
      ...{ ...AT, id: object.metadata.uid, phase: 'Completed', pipeline: [], started: time, completed: time },
      conditions: [{ type, status: 'True', category: 'Advisory', durable: true, lastTransitionTime: time }],
    };
    await run.patchPlan({ spec: { vms: [...(await run.plan()).spec.vms, AT] } });
    const vms = [...((await run.migration()).status?.vms ?? []), ended];
    const at = { namespace: 'tenant', name: 'migration' };
    await run.hub.patch(PLAN_MIGRATIONS, at, { merge: { status: { vms } }, subresource: 'status' });
    return run;
  }

  /** As the guard looks again. */
  async function requestsOfSweep(run: ModelledRun): Promise<string[]> {
    await run.sweep();
    run.requests.length = 0;
    await run.sweep();
    return [...run.requests];
  }

  const isWorkerRecorded = async (run: ModelledRun): Promise<boolean> => {
    const { object } = await run.models.source.admin.get(VIRTUAL_MACHINES, AT);
    return object.metadata.annotations?.[LIVE_ANNOTATION.run] !== undefined;
  };

  test.each(['Succeeded', 'Canceled'] as const)('costs one request: %s', async (type) => {
    const alone = await requestsOfSweep(await ModelledRun.start());
    const run = await startBeside(type);
    const requests = await requestsOfSweep(run);
    expect(requests.sort()).toEqual([...alone, 'get VirtualMachine on source'].sort());
    const [, vm] = (await run.migration()).status?.vms ?? [];
    expect(vm).toMatchObject({ completed: seconds(0), conditions: [{ type }] });
  });

  test('costs one request too where its VM on the source was deleted after its success', async () => {
    const run = await startBeside('Succeeded');
    await run.models.source.admin.delete(VIRTUAL_MACHINES, AT);
    expect(await requestsOfSweep(run)).toHaveLength(
      (await requestsOfSweep(await ModelledRun.start())).length + 1,
    );
  });

  test('loses its record, where a process ended before it took that off', async () => {
    const run = await startBeside('Canceled');
    const record = (await run.vm())?.metadata.annotations?.[LIVE_ANNOTATION.run] ?? '';
    const { object } = await run.models.source.admin.get(VIRTUAL_MACHINES, AT);
    const own = { ...(JSON.parse(record) as RunRecord), vm: object.metadata.uid, end: END };
    await run.models.source.admin.replace(VIRTUAL_MACHINES, withRecord(object, own));
    expect(await isWorkerRecorded(run)).toBe(true);
    await run.sweep();
    expect(await isWorkerRecorded(run)).toBe(false);
    expect((await run.migration()).status).not.toHaveProperty('completed');
  });

  test('whose VM was deleted, and which made something all the same, says what is left over', async () => {
    const run = await startBeside('Canceled');
    const id = (await run.migration()).status?.vms?.[1]?.id ?? '';
    await run.made(aReceiver(), VIRTUAL_MACHINES, { id, name: 'worker' });
    await run.models.source.admin.delete(VIRTUAL_MACHINES, AT);
    await run.sweep();
    expect((await run.migration()).status?.leftovers).toEqual(['VirtualMachine target/worker']);
  });

  test('while its cluster does not answer: nothing is known of it either', async () => {
    const run = await startBeside('Canceled');
    run.away.add('source');
    await run.sweep();
    run.away.clear();
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.sweep();
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.vms?.map(conditionsOf)).toEqual([
      ['Canceled UserRequested'],
      ['Canceled'],
    ]);
  });
});

test('the last event of a run releases what it held again', async () => {
  const run = await ModelledRun.start();
  await run.hub.patch(
    SECRETS,
    { namespace: 'tenant', name: 'source' },
    { merge: { metadata: { finalizers: null } } },
  );
  await run.breakGlass();
  await run.changed('Migration');
  expect(await run.held()).toEqual([]);
});

test('a Migration whose plan is not Ready for an hour has failed, and moves nothing when it is', async () => {
  const run = await ModelledRun.prepare();
  await run.sweep();
  expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
  run.wait(3_599);
  await run.sweep();
  expect((await run.migration()).status).not.toHaveProperty('completed');
  run.wait(1);
  await run.sweep();
  const { status, metadata } = await run.migration();
  expect(conditionsOf(status)).toEqual(['PlanNotReady NotFound', 'Failed']);
  expect(status?.message).toMatch(
    /^too late: The `plan` does not have Ready condition. See the conditions of Plan plan/,
  );
  await run.sweep();
  expect((await run.migration()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await run.held()).toEqual([]);
  expect(await run.isRecorded()).toBe(false);
});

test('where Forklift is installed nothing is done, and one Event on its controller says so', async () => {
  const run = await ModelledRun.prepare();
  const metadata = { namespace: 'konveyor-forklift', name: 'forklift-controller' };
  await run.hub.create(NAMESPACES, { ...LIVE_KIND.namespace, metadata: { name: metadata.namespace } });
  const { object } = await run.hub.create(FORKLIFT_CONTROLLERS, { metadata });
  const before = (await run.migration()).metadata.resourceVersion;
  await run.sweep();
  await run.changed('Migration');
  expect((await run.migration()).metadata.resourceVersion).toBe(before);
  const { items } = await run.hub.list(EVENTS, {});
  expect(items).toMatchObject([
    {
      reason: 'LeftToForklift',
      involvedObject: { kind: 'ForkliftController', name: metadata.name, uid: object.metadata.uid },
    },
  ]);
});

describe('a VM that was over its quota when all had moved', () => {
  const QUOTA = { namespace: 'target', name: 'quota' };

  /** By so many pods. */
  const over = async ({ models }: ModelledRun, pods: number): Promise<void> => {
    const merge = { status: { hard: { pods: '1' }, used: { pods: String(1 + pods) } } };
    await models.destination.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge, subresource: 'status' });
  };
  const said = async (run: ModelledRun): Promise<(string | undefined)[]> =>
    ((await run.plan()).status?.migration?.vms ?? []).flatMap(({ conditions = [] }) =>
      conditions.filter(({ type }) => type === 'RestartWouldBeRefused').map(({ message }) => message),
    );

  /** It was over by one pod then. */
  async function moved(): Promise<ModelledRun> {
    const run = await ModelledRun.prepare();
    await run.made(aReceiver(always), VIRTUAL_MACHINES);
    const spec = { hard: { pods: '1' } };
    await run.models.destination.admin.create(RESOURCE_QUOTAS, { metadata: QUOTA, spec });
    await over(run, 1);
    const [succeeded, refused] = ['Succeeded', 'RestartWouldBeRefused'].map((type) => ({
      ...{ type, status: 'True', category: 'Advisory', message: 'by pods=1', lastTransitionTime: seconds(0) },
    }));
    const vm = { name: 'web', phase: 'Completed', pipeline: [], conditions: [succeeded, refused] };
    const merge = { status: { conditions: [succeeded], migration: { vms: [vm] } } };
    await run.hub.patch(PLANS, { namespace: 'tenant', name: 'plan' }, { merge, subresource: 'status' });
    return run;
  }

  test('is shown to be as long as it is, by how much it is now', async () => {
    const run = await moved();
    await over(run, 2);
    await run.sweep('Plan');
    expect(await said(run)).toEqual([expect.stringContaining('ResourceQuota quota lacks pods=2.')]);
    const { resourceVersion } = (await run.plan()).metadata;
    await run.sweep('Plan');
    expect((await run.plan()).metadata.resourceVersion).toBe(resourceVersion);
    await over(run, 0);
    await run.sweep('Plan');
    expect(await said(run)).toEqual([]);
    expect(conditionsOf((await run.plan()).status)).toEqual(['Succeeded']);
  });

  test('is not once it is gone', async () => {
    const run = await moved();
    await run.models.destination.admin.delete(VIRTUAL_MACHINES, { namespace: 'target', name: 'web' });
    await run.sweep('Plan');
    expect(await said(run)).toEqual([]);
  });

  test('is as it was while its cluster does not answer', async () => {
    const run = await moved();
    await over(run, 0);
    run.away.add('destination');
    await run.sweep('Plan');
    expect(await said(run)).toEqual(['by pods=1']);
  });
});

const NETWORKS = { namespace: 'tenant', name: 'networks' };
const OF_PODS = { merge: { spec: { map: [{ source: { type: 'pod' }, destination: { type: 'pod' } }] } } };

describe('a network map is compared with the networks', () => {
  test('of both clusters', async () => {
    const run = await ModelledRun.prepare();
    await run.changed('NetworkMap', NETWORKS.name);
    expect(conditionsOf((await run.hub.get(NETWORK_MAPS, NETWORKS)).object.status)).toEqual([
      'SourceNetworkNotValid NotFound',
      'DestinationNetworkNotValid NotFound',
    ]);
  });

  test('not of the source where it maps none of them', async () => {
    const run = await ModelledRun.prepare();
    await run.hub.patch(NETWORK_MAPS, NETWORKS, OF_PODS);
    await run.changed('NetworkMap', NETWORKS.name);
    const asked = run.requests.filter((request) => request.includes('NetworkAttachmentDefinition'));
    expect([...new Set(asked)]).toEqual(['list NetworkAttachmentDefinition on destination']);
  });
});

describe('a run that is about to begin', () => {
  /** Whose plan is Ready. */
  async function ready(): Promise<ModelledRun> {
    const run = await ModelledRun.prepare();
    const developerConfiguration = { featureGates: ['DecentralizedLiveMigration'] };
    for (const { admin } of [run.models.source, run.models.destination]) {
      await admin.create(KUBEVIRTS, {
        metadata: { name: 'kubevirt', namespace: 'vms' },
        spec: { configuration: { developerConfiguration } },
      });
      const merge = {
        status: { observedKubeVirtVersion: 'v1.9.0', synchronizationAddresses: ['10.0.0.1:9185'] },
      };
      await admin.patch(KUBEVIRTS, { name: 'kubevirt', namespace: 'vms' }, { merge, subresource: 'status' });
      for (const name of ['fast', 'gold']) await admin.create(STORAGE_CLASSES, { metadata: { name } });
    }
    await run.hub.patch(NETWORK_MAPS, NETWORKS, OF_PODS);
    return run;
  }

  test('whose user is not known does not begin', async () => {
    const run = await ready();
    await run.sweep();
    expect(conditionsOf((await run.migration()).status)).toEqual(['NotAllowed Forbidden']);
    expect(await run.held()).toEqual([]);
    expect(await run.isRecorded()).toBe(false);
  });

  test('holds everything before it shows that it has begun, and before it writes anything on the source', async () => {
    const run = await ready();
    const requester = JSON.stringify({ user: 'tom', groups: [] });
    await run.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: requester } } });
    const { store } = run.models.hub;
    const heldNow = (): number =>
      ['Migration', 'Plan', 'Provider', 'Secret']
        .flatMap((kind) => store.list(kind, 'tenant'))
        .filter(({ metadata }) => metadata.finalizers?.includes(LIVE_FINALIZER)).length;
    const heldAt: Record<string, number> = {};
    store.onChange(({ object }) => {
      const { status } = object as Partial<PlanMigration>;
      if (object.kind === 'Migration' && status?.started !== undefined) heldAt['started'] ??= heldNow();
    });
    run.refusesPut = () => {
      heldAt['written'] ??= heldNow();
      return undefined;
    };
    await run.sweep();
    expect(heldAt).toEqual({ started: HELD.length, written: HELD.length });
    expect(await run.isRecorded()).toBe(true);
  });
});

interface Copied {
  /** The Plan that it was copied by; left out: the one that is there. */
  readonly plan?: string;
  /** Another VM that names it. */
  readonly user?: string;
}

test.each<[string, Copied, string[]]>([
  ['goes with a run that is canceled', {}, []],
  ['goes with it where the Plan was replaced meanwhile', { plan: 'uid-of-another' }, []],
  ['stays while another VM of the namespace uses it', { user: 'other' }, ['init']],
])('a Secret that the run has copied %s', async (_what, { plan: ofPlan, user }, left) => {
  const run = await ModelledRun.start();
  const { admin } = run.models.destination;
  const [plan, migration, vm] = [await run.plan(), await run.migration(), await run.vm()];
  await admin.create(SECRETS, {
    ...LIVE_KIND.secret,
    metadata: {
      ...{ name: 'init', namespace: 'target', labels: { [LIVE_LABEL.plan]: ofPlan ?? plan.metadata.uid } },
      annotations: { [LIVE_ANNOTATION.madeBy]: `${migration.metadata.uid} ${vm?.metadata.uid ?? ''}` },
    },
  });
  if (user !== undefined) {
    const { apiVersion, kind, spec } = aVm();
    const volumes = [{ name: 'init', cloudInitNoCloud: { secretRef: { name: 'init' } } }];
    const template = { ...spec.template, spec: { ...spec.template.spec, volumes } };
    const metadata = { name: user, namespace: 'target' };
    await admin.create(VIRTUAL_MACHINES, {
      apiVersion,
      kind,
      metadata,
      spec: { ...spec, template },
    } as never);
  }
  await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
  await run.sweep();
  const [shown] = (await run.migration()).status?.vms ?? [];
  expect(conditionsOf(shown)).toEqual(['Canceled UserRequested']);
  const { items } = await admin.list(SECRETS, { namespace: 'target' });
  expect(items.map(({ metadata }) => metadata.name)).toEqual(left);
  const said = shown?.conditions?.flatMap(({ suggestion }) => suggestion ?? []);
  expect(said).toEqual(
    left.map((name) => `These stay on the target: Secret target/${name}. Delete by hand what nothing uses.`),
  );
});

describe('Forklift is installed during a run', () => {
  const install = async (run: ModelledRun): Promise<void> => {
    const metadata = { namespace: 'konveyor-forklift', name: 'forklift-controller' };
    await run.hub.create(NAMESPACES, { ...LIVE_KIND.namespace, metadata: { name: metadata.namespace } });
    await run.hub.create(FORKLIFT_CONTROLLERS, { metadata });
  };

  test('a VM that has not begun waits', async () => {
    const run = await ModelledRun.start();
    await run.models.source.admin.patch(
      VIRTUAL_MACHINES,
      { namespace: 'vms', name: 'web' },
      { merge: { metadata: { annotations: null } } },
    );
    await install(run);
    await run.sweep();
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(vm?.conditions).toMatchObject([
      { reason: 'PlanNotReady', message: expect.stringContaining('Forklift was installed') },
    ]);
    expect(await run.isRecorded()).toBe(false);
  });

  test('one that has goes on, and the plan is not checked beside Forklift', async () => {
    const run = await ModelledRun.start();
    await install(run);
    await run.sweep();
    expect((await run.migration()).status?.vms?.[0]?.phase).toBe('CreateEmptyDataVolumes');
    run.away.add('source');
    await run.sweep();
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
  });
});

test.each([
  ['its event comes', 'changed'],
  ['its event is lost, and the guard looks at it', 'sweep'],
] as const)(
  'an interrupted beginning, not Ready for an hour, holds nothing after its end: %s',
  async (...[, act]) => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'plan', 'source');
    await run.sweep();
    run.wait(3_600);
    await run.sweep();
    await run[act]('Migration');
    expect(conditionsOf((await run.migration()).status)).toContain('Failed');
    expect(await run.held()).toEqual([]);
  },
);

describe('a cluster that a run cannot ask', () => {
  test('is shown by its Provider and the Plan while VMs move, until it answers again', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionTestFailed Tested');
    expect(conditionsOf((await run.provider('destination')).status)).toContain('Ready');
    const shown = conditionsOf((await run.plan()).status);
    expect(shown).toContain('Executing');
    expect(shown).toContain('SourceProviderNotReady');
    expect(shown).not.toContain('Ready');

    run.away.clear();
    run.wait(60);
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
  });

  test('is shown too once its VM has ended with something left over', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: END });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
    await run.sweep();
    run.away.add('destination');
    await run.sweep();
    expect(conditionsOf((await run.plan()).status)).toContain('DestinationProviderNotReady');
  });

  test('is asked with a renewed token when the guard looks at the run again', async () => {
    const run = await ModelledRun.start();
    run.tokens.source = 'renewed';
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionAuthFailed Tested');
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(conditionsOf(vm)).toEqual(['Waiting ClusterUnknown']);

    await run.renewToken('source', 'renewed');
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    const [next] = (await run.migration()).status?.vms ?? [];
    expect(next?.phase).toBe('CreateEmptyDataVolumes');
    expect(conditionsOf(next)).not.toContain('Waiting ClusterUnknown');
  });

  test('is asked with a renewed token when the guard looks at the plan again', async () => {
    const run = await ModelledRun.prepare();
    run.tokens.source = 'renewed';
    await run.sweep('Plan');
    expect(conditionsOf((await run.plan()).status)).toContain('SourceProviderNotReady');
    await run.renewToken('source', 'renewed');
    await run.sweep('Plan');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
  });
});

describe('the Plan is archived or deleted', () => {
  const archive = (run: ModelledRun): Promise<unknown> => run.patchPlan({ spec: { archived: true } });
  const remove = (run: ModelledRun): Promise<void> =>
    run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
  const ACTS = { archive, delete: remove };
  const isPlanGone = async (run: ModelledRun): Promise<boolean> =>
    (await run.hub.list(PLANS, {})).items.length === 0;

  describe.each(Object.entries(ACTS))('%s', (name, act) => {
    test('before a Migration begins: it says so, and has failed after an hour', async () => {
      const run = await ModelledRun.prepare();
      await act(run);
      await run.changed('Plan', 'plan', name === 'delete' ? 'delete' : 'update');
      const wanted = name === 'delete' ? 'PlanNotValid NotFound' : 'PlanNotReady Archived';
      expect(conditionsOf((await run.migration()).status)).toEqual([wanted]);
      expect(await run.held()).toEqual([]);
      run.wait(3_600);
      await run.sweep();
      expect(conditionsOf((await run.migration()).status)).toEqual([wanted, 'Failed']);
    });

    test('while a Migration begins: nothing is held', async () => {
      const run = await ModelledRun.prepare();
      await run.hold('migration', 'plan', 'source');
      await act(run);
      await run.sweep();
      expect(await run.held()).toEqual([]);
      expect(await run.isRecorded()).toBe(false);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('before the cut-over: the VM is as it was, and nothing is held', async () => {
      const run = await ModelledRun.start();
      await run.sweep();
      await act(run);
      await run.changed('Plan');
      const { status } = await run.migration();
      expect(conditionsOf(status?.vms?.[0])).toEqual([
        `Canceled ${name === 'delete' ? 'Deleted' : 'Archived'}`,
      ]);
      expect(await run.held()).toEqual([]);
      expect(await run.isRecorded()).toBe(false);
      expect((await run.vm())?.spec.runStrategy).toBe('Always');
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('past the cut-over: the VM stays on the target, and is turned off on the source', async () => {
      const run = await ModelledRun.start({ attempt: 1, arrivedAt: seconds(0), marks: [MARK] });
      await run.made(aReceiver(always), VIRTUAL_MACHINES);
      await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
      await act(run);
      await run.changed('Plan');
      const { status } = await run.migration();
      expect(conditionsOf(status?.vms?.[0])).toEqual(['CutOver', 'Succeeded Succeeded']);
      expect((await run.vm())?.spec.runStrategy).toBe('Halted');
      expect(await run.onTarget()).toEqual(['web']);
      expect(await run.held()).toEqual([]);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('after its end, with something left over: it is held until that is gone', async () => {
      const run = await ModelledRun.start();
      await run.made(aReceiver(), VIRTUAL_MACHINES);
      await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
      await run.sweep();
      await act(run);
      await run.changed('Plan');
      expect((await run.held()).sort()).toEqual(HELD);
      expect(await run.onTarget()).toEqual(['web']);
      await run.models.destination.admin.delete(VIRTUAL_MACHINES, { namespace: 'target', name: 'web' });
      await run.sweep();
      expect(await run.held()).toEqual([]);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });
  });

  test.each<[string, ResourceType]>([
    ['Provider', PROVIDERS],
    ['Secret', SECRETS],
  ])('the deletion of a %s is a cancel too', async (_what, type) => {
    const run = await ModelledRun.start();
    await run.sweep();
    await run.hub.delete(type, { namespace: 'tenant', name: 'destination' });
    await run.sweep();
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Deleted']);
    expect(await run.held()).toEqual([]);
    expect((await run.hub.list(type, {})).items.map(({ metadata }) => metadata.name)).toEqual(['source']);
  });
});

describe('what a late call holds after the end of the run', () => {
  const ended = async (): Promise<ModelledRun> => {
    const run = await ModelledRun.start();
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.sweep();
    expect(await run.held()).toEqual([]);
    return run;
  };

  test('goes with the Plan when that is deleted', async () => {
    const run = await ended();
    await run.hold('plan', 'source', 'destination');
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan');
    expect(await run.held()).toEqual([]);
    expect((await run.hub.list(PLANS, {})).items).toEqual([]);
  });

  test('goes when it is deleted, if it is a Provider', async () => {
    const run = await ended();
    await run.hold('source');
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
    expect(await run.held()).toEqual([]);
    const { items } = await run.hub.list(PROVIDERS, {});
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['destination']);
  });

  test('stays while another run goes on', async () => {
    const run = await ModelledRun.start();
    await run.made(aReceiver(always), VIRTUAL_MACHINES);
    await run.sweep();
    run.away.add('source');
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan');
    expect((await run.held()).sort()).toEqual(HELD);
  });
});

test('the process ended between the Plan, which is gone, and its Migration: that is let go too', async () => {
  const run = await ModelledRun.start();
  await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
  await run.sweep();
  await run.hold('migration', 'source');
  await run.sweep();
  expect(await run.held()).toEqual([]);
  expect(conditionsOf((await run.migration()).status)).toContain('Canceled');
});

test('a source VM that was replaced past the cut-over is no end, until the other one is off', async () => {
  const run = await ModelledRun.start({ attempt: 1, arrivedAt: seconds(0), marks: [MARK] });
  await run.made(aReceiver(always), VIRTUAL_MACHINES);
  await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
  const { admin } = run.models.source;
  const name = { namespace: 'vms', name: 'web' };
  const { kind, apiVersion, spec } = (await run.vm()) ?? always(aReceiver());
  await admin.delete(VIRTUAL_MACHINES, name);
  await admin.create(VIRTUAL_MACHINES, { kind, apiVersion, spec, metadata: name } as never);
  await run.sweep();
  const [vm] = (await run.migration()).status?.vms ?? [];
  expect(vm?.conditions).toMatchObject([{ category: 'Critical', reason: 'SourceStartedAgain' }]);
  expect((await run.held()).sort()).toEqual(HELD);
  await admin.patch(VIRTUAL_MACHINES, name, { merge: { spec: { runStrategy: 'Halted' } } });
  await run.sweep();
  expect(conditionsOf((await run.migration()).status)).toContain('Succeeded');
  expect(await run.held()).toEqual([]);
});

test('a run goes on with its Providers though a user took the finalizer off its Migration', async () => {
  const run = await ModelledRun.start();
  run.away.add('source');
  await run.sweep();
  await run.patchMigration({ metadata: { finalizers: null } });
  await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
  await run.changed('Provider', 'source');
  expect((await run.held()).sort()).toEqual(HELD);
});

describe('a Plan of another type', () => {
  const COLD = { namespace: 'tenant', name: 'cold' };

  /** With a Migration. */
  async function createCold(run: ModelledRun, finalizers: string[] = []): Promise<void> {
    await run.hub.create(PLANS, { metadata: COLD, spec: { ...aPlan().spec, type: 'cold' } });
    const metadata = { ...COLD, finalizers };
    await run.hub.create(PLAN_MIGRATIONS, { metadata, spec: { plan: COLD } });
  }

  const show = (run: ModelledRun, status: PlanMigration['status'] & object): Promise<unknown> =>
    run.hub.patch(PLAN_MIGRATIONS, COLD, { merge: { status }, subresource: 'status' });

  const versionsOf = async ({ hub }: ModelledRun): Promise<string[]> =>
    (await Promise.all([hub.get(PLANS, COLD), hub.get(PLAN_MIGRATIONS, COLD)])).map(
      ({ object }) => object.metadata.resourceVersion,
    );

  test.each<[string, PlanMigration['status'] & object]>([
    ['waits', {}],
    ['runs', { started: seconds(0) }],
    ['has ended', { started: seconds(0), completed: seconds(9) }],
  ])('is never written, nor its Migration, which %s', async (_what, status) => {
    const run = await ModelledRun.prepare();
    await createCold(run);
    await show(run, status);
    const before = await versionsOf(run);
    for (const kind of ['Plan', 'Migration'] as const) {
      await run.sweep(kind, 'cold');
      await run.changed(kind, 'cold');
    }
    await run.changed('Provider', 'source');
    await run.changed('StorageMap', 'storage');
    await run.changed('NetworkMap', 'networks');
    // These were looked at.
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect((await run.plan()).status?.conditions).toBeDefined();
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.sweep();
    expect(await versionsOf(run)).toEqual(before);
  });

  test('whose Migration has the finalizer, from a copy: it is let go', async () => {
    const run = await ModelledRun.prepare();
    await createCold(run, [LIVE_FINALIZER]);
    await run.sweep('Migration', 'cold');
    expect(await run.held()).toEqual([]);
  });

  test('whose Migration was deleted, and has the finalizer from a copy: it goes, and a live run stays held', async () => {
    const run = await ModelledRun.start();
    await createCold(run, [LIVE_FINALIZER]);
    await run.hub.delete(PLAN_MIGRATIONS, COLD);
    await run.changed('Migration', 'cold');
    const { items } = await run.hub.list(PLAN_MIGRATIONS, {});
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['migration']);
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('that was deleted, and has the finalizer from a copy: it goes', async () => {
    const run = await ModelledRun.start();
    const metadata = { ...COLD, finalizers: [LIVE_FINALIZER] };
    await run.hub.create(PLANS, { metadata, spec: { ...aPlan().spec, type: 'cold' } });
    await run.hub.delete(PLANS, COLD);
    await run.changed('Plan', 'cold');
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('which was for live migrations: a run that is under way stays held', async () => {
    const run = await ModelledRun.start();
    await run.patchPlan({ spec: { type: 'cold' } });
    await run.sweep();
    expect((await run.held()).sort()).toEqual(HELD);
    expect(await run.isRecorded()).toBe(true);
  });

  test('holds back no Provider at the end of a live run', async () => {
    const run = await ModelledRun.start();
    await createCold(run);
    await show(run, { started: seconds(0) });
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.sweep();
    expect(await run.held()).toEqual([]);
  });
});

describe('a Plan that was deleted in spite of its finalizer', () => {
  const force = async (run: ModelledRun): Promise<void> => {
    await run.patchPlan({ metadata: { finalizers: null } });
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan', 'plan', 'delete');
  };
  const REST = HELD.filter((one) => one !== 'Plan plan');

  test('while VMs move: the run says how it is given up, and then lists what it may have left', async () => {
    const run = await ModelledRun.start();
    await run.sweep();
    await force(run);
    const { uid } = (await run.migration()).metadata;
    expect((await run.migration()).status?.conditions).toContainEqual(
      expect.objectContaining({ suggestion: expect.stringContaining(`break-glass=${uid}`) }),
    );
    expect((await run.held()).sort()).toEqual(REST);
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toContain('Failed');
    expect(status?.leftovers).toContain('perhaps the record of VirtualMachine vms/web');
    expect(await run.isRecorded()).toBe(true);
  });

  test.each<[string, (run: ModelledRun) => Promise<unknown>]>([
    ['', () => Promise.resolve()],
    [' without its finalizer', (run) => run.patchMigration({ metadata: { finalizers: null } })],
    [
      ' without finalizer and owner',
      (run) => run.patchMigration({ metadata: { finalizers: null, ownerReferences: null } }),
    ],
  ])('while VMs move: another Plan of its name ends the run%s', async (_what, change) => {
    const run = await ModelledRun.start();
    await run.sweep();
    await force(run);
    await change(run);
    await run.hub.create(
      PLANS,
      aPlan((plan) => ({ ...plan, spec: { ...plan.spec, targetNamespace: 'other' } })),
    );
    await run.changed('Plan');
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Modified']);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
  });

  const deleteProvider = async (run: ModelledRun): Promise<void> => {
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
  };
  const providersOn = async ({ hub }: ModelledRun): Promise<string[]> =>
    (await hub.list(PROVIDERS, {})).items.map(({ metadata }) => metadata.name).sort();

  test('while VMs move: a Provider that is deleted stays until the Plan is there again, and its run has ended', async () => {
    const run = await ModelledRun.start();
    await run.sweep();
    await force(run);
    await deleteProvider(run);
    expect((await run.held()).sort()).toEqual(REST);
    await run.hub.create(PLANS, aPlan());
    await run.changed('Plan');
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Deleted']);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
    expect(await providersOn(run)).toEqual(['destination']);
  });

  test('while VMs move: a Provider that is deleted goes when the run is given up', async () => {
    const run = await ModelledRun.start();
    await run.sweep();
    await force(run);
    await deleteProvider(run);
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(await providersOn(run)).toEqual(['destination']);
  });

  test('before VMs move: nothing is held', async () => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'source');
    await force(run);
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotValid NotFound']);
  });
});
