import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  aVmi,
  inPhase,
  onNode,
  podPhase,
  podSpec,
  withPriority,
} from '../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import {
  annotated,
  beingDeleted,
  inNamespace,
  labelled,
  metadata,
  named,
  NOW,
  type Change,
} from '../../test/support/builders/object.ts';
import {
  aKubeVirt,
  aTenant,
  aVm,
  clusterFacts,
  protectedBy,
  ROOMY,
  tight,
} from '../../test/support/builders/preflight.ts';
import { aQuota, hard, raisedBy, scoped, specHard, used } from '../../test/support/builders/quota.ts';
import { aClusterVmmrq, aVmmrq, forPurposes, giving } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, KUBEVIRT, REASON } from '../../functions/domain/names.ts';
import type { NodeState } from '../../functions/domain/snapshot.ts';
import type {
  Condition,
  Migration,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import { parseQuantity } from '../../functions/domain/quantity.ts';
import { unchargedIn } from '../../functions/domain/sizing/uncharged.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import type { VmOutcome } from './outcome.ts';
import { preflight } from './preflight.ts';
import { summary, table } from './render.ts';
import type { Task } from './task.ts';

const NODE: Task = { kind: 'node', nodes: ['node1'] };
const UPGRADE: Task = { kind: 'upgrade' };

const outcomes = (
  tenant: Partial<NamespaceFacts>,
  { task = NODE, state = {} }: { task?: Task; state?: Partial<ClusterFacts['state']> } = {},
): readonly VmOutcome[] => preflight(task, clusterFacts([aTenant(tenant)], state)).vms;

/** The outcomes as text: "vm0 Passes, vm1 Stuck NotEnough" */
const said = (vms: readonly VmOutcome[]): string =>
  vms
    .map(({ name, outcome, reason }) =>
      [name, outcome, ...(GOES.includes(outcome) ? [] : [reason])].join(' '),
    )
    .join(', ');
const GOES = ['Passes', 'PassesInTurn'];

const notMigratable: Condition = {
  type: 'LiveMigratable',
  status: 'False',
  reason: 'DisksNotLiveMigratable',
  message: 'a disk is local',
};

describe('without a quota in the way', () => {
  test.each<[string, Partial<NamespaceFacts>, string]>([
    ['both VMs pass', {}, 'vm0 Passes, vm1 Passes'],
    ['a namespace without a quota holds nothing back', { quotas: [] }, 'vm0 Passes, vm1 Passes'],
    [
      'nor does one that opts out, or is the cluster’s',
      { namespace: annotated(ANNOTATION.skip, 'true')(aNamespace()) },
      'vm0 Passes, vm1 Passes',
    ],
    [
      'a VM that KubeVirt cannot migrate stays',
      {
        vmis: [{ ...aVm('vm0'), status: { ...aVm('vm0').status, conditions: [notMigratable] } }, aVm('vm1')],
      },
      'vm0 NotMigratable DisksNotLiveMigratable, vm1 Passes',
    ],
    [
      'a VM whose next launcher has a container of unknown size: only a quota could mind',
      { vmis: [annotated(KUBEVIRT.hookSidecars, '[{}]')(aVm('vm0'))], quotas: [] },
      'vm0 Passes',
    ],
    [
      'where a quota counts sizes its outcome is unknown',
      { vmis: [annotated(KUBEVIRT.hookSidecars, '[{}]')(aVm('vm0'))] },
      'vm0 CannotTell SizeUnknown',
    ],
    [
      'and is stopped where it may be',
      {
        vmis: [
          {
            ...protectedBy('LiveMigrateIfPossible')(aVmi()),
            status: { nodeName: 'node1', conditions: [notMigratable] },
          },
        ],
      },
      'vm0 Restarted DisksNotLiveMigratable',
    ],
    ['a drain stops a VM without a strategy', { vmis: [aVmi()] }, 'vm0 Restarted EvictionStrategyNone'],
    [
      'another controller decides on an external one',
      { vmis: [protectedBy('External')(aVmi())] },
      'vm0 CannotTell ExternalEviction',
    ],
    [
      'a VM without a launcher has no size',
      { pods: [aLauncher('vm1')] },
      'vm0 CannotTell NoSourcePod, vm1 Passes',
    ],
    [
      'nor has a quota that is not counted yet',
      { quotas: [aQuota((quota) => ({ ...quota, status: {} }))] },
      'vm0 CannotTell QuotaStatusUnknown, vm1 CannotTell QuotaStatusUnknown',
    ],
  ])('%s', (_, tenant, want) => {
    expect(said(outcomes(tenant))).toBe(want);
  });

  test('the cluster’s own strategy counts where a VM has none', () => {
    const kubevirt = aKubeVirt({ evictionStrategy: 'LiveMigrate' });
    expect(said(outcomes({ vmis: [aVmi()] }, { state: { kubevirt } }))).toBe('vm0 Passes');
  });

  test('an upgrade that KubeVirt does not automate moves no VM', () => {
    const kubevirt = aKubeVirt({}, []);
    const vms = outcomes({}, { task: UPGRADE, state: { kubevirt } });
    expect(said(vms)).toBe('vm0 NotMigratable NotAutomated, vm1 NotMigratable NotAutomated');
  });

  test('…and is one sentence with the patch, not a row for each VM', () => {
    const facts = clusterFacts([aTenant({})], { kubevirt: aKubeVirt({}, []) });
    expect(table(preflight(UPGRADE, facts), { paint: (_, text) => text, isWide: false })).toEqual([
      'upgrade of KubeVirt: it migrates none of 2 VMs. KubeVirt has no workloadUpdateMethods, so it migrates no VM after an upgrade. ' +
        'To let it: kubectl patch kubevirt kubevirt -n kubevirt --type=merge ' +
        `-p '{"spec":{"workloadUpdateStrategy":{"workloadUpdateMethods":["LiveMigrate"]}}}'`,
    ]);
  });

  test('an upgrade that evicts VMs restarts those without a strategy, and evacuates the others', () => {
    const kubevirt = aKubeVirt({}, ['Evict']);
    const vmis = [aVm('vm0'), aVmi('vm1')];
    const vms = outcomes({ vmis }, { task: UPGRADE, state: { kubevirt } });
    expect(said(vms)).toBe('vm0 Passes, vm1 Restarted Evict');
  });

  test('an upgrade’s eviction of a VM that cannot be migrated is refused', () => {
    const kubevirt = aKubeVirt({}, ['LiveMigrate', 'Evict']);
    const vmis = [{ ...aVm('vm0'), status: { ...aVm('vm0').status, conditions: [notMigratable] } }];
    const vms = outcomes({ vmis }, { task: UPGRADE, state: { kubevirt } });
    expect(said(vms)).toBe('vm0 NotMigratable DisksNotLiveMigratable');
  });
});

describe('in turn', () => {
  test.each<[string, Parameters<typeof aKubeVirt>[0], string]>([
    [
      'no more than the node allows',
      { migrations: { parallelOutboundMigrationsPerNode: 1 } },
      'vm1 PassesInTurn',
    ],
    [
      'no more than the cluster allows',
      { migrations: { parallelMigrationsPerCluster: 1 } },
      'vm1 PassesInTurn',
    ],
    ['both at once', {}, 'vm1 Passes'],
  ])('%s', (_, configuration, want) => {
    const kubevirt = aKubeVirt(configuration);
    expect(said(outcomes({}, { state: { kubevirt } }))).toBe(`vm0 Passes, ${want}`);
  });

  test('the limit of a node is for each of the nodes, that of the cluster for all', () => {
    const vmis = [aVm('vm0'), aVm('vm1'), aVm('vm2', 'node2'), aVm('vm3', 'node2')];
    const pods = vmis.map(({ metadata: { name }, status }) =>
      aLauncher(name, onNode(status?.nodeName ?? '')),
    );
    const kubevirt = aKubeVirt({ migrations: { parallelOutboundMigrationsPerNode: 1 } });
    const task: Task = { kind: 'node', nodes: ['node1', 'node2'] };
    const report = preflight(task, clusterFacts([aTenant({ vmis, pods, quotas: [] })], { kubevirt }));
    expect(said(report.vms)).toBe('vm0 Passes, vm1 PassesInTurn, vm2 Passes, vm3 PassesInTurn');
    expect(report.atOnce).toBe(2);
  });

  test('migrations of others use slots', () => {
    const running = inPhase('Running')(aMigration(inNamespace('other')));
    const kubevirt = aKubeVirt({ migrations: { parallelMigrationsPerCluster: 2 } });
    expect(said(outcomes({}, { state: { kubevirt, migrations: [running] } }))).toBe(
      'vm0 Passes, vm1 PassesInTurn',
    );
  });

  test('the headroom of a quota is enough for one at a time', () => {
    expect(said(outcomes({ quotas: [tight(1005)] }))).toBe('vm0 Passes, vm1 PassesInTurn');
  });

  test('the object of a launcher that has ended still counts as an object', () => {
    const quotas = [aQuota(hard({ 'count/pods': '3' }), used({ 'count/pods': '2' }))];
    expect(said(outcomes({ quotas }))).toBe('vm0 Passes, vm1 Stuck NoVirtualMachineMigrationResourceQuota');
  });
});

describe('stuck', () => {
  test('names the quota, the key and the missing amount', () => {
    const [, second] = outcomes({
      quotas: [tight(400)],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m' }))],
    });
    expect(second).toMatchObject({
      outcome: 'Stuck',
      reason: REASON.notEnough,
      by: [],
      missing: [{ quota: 'quota', shortfalls: [{ key: 'requests.cpu', missing: parseQuantity('605m') }] }],
    });
  });

  test('a VMMRQ that gives enough lets both pass, one after the other', () => {
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '605m' }))];
    const vms = outcomes({ quotas: [tight(400)], vmmrqs });
    expect(said(vms)).toBe('vm0 Passes, vm1 PassesInTurn');
    expect(vms.map(({ by }) => by)).toEqual([['vmmrq'], ['vmmrq']]);
  });

  test.each<[string, Task, string]>([
    ['a drain gets what is given for evacuations', NODE, 'Passes'],
    ['an upgrade does not', UPGRADE, 'Stuck'],
    ['nor does a user', { kind: 'namespace', namespace: 'tenant' }, 'Stuck'],
  ])('%s', (_, task, want) => {
    const plenty = aClusterVmmrq(forPurposes('Evacuation'));
    const vms = outcomes({ quotas: [tight(0)], vmmrqs: [plenty] }, { task });
    expect(vms[0]).toMatchObject({ outcome: want, by: want === 'Passes' ? ['cvmmrq/drains'] : [] });
  });

  test('an upgrade that evicts gets what is given for UserRequested', () => {
    const kubevirt = aKubeVirt({}, ['Evict']);
    const given = (purpose: 'WorkloadUpdate' | 'UserRequested'): unknown =>
      outcomes(
        { quotas: [tight(0)], vmmrqs: [aClusterVmmrq(forPurposes(purpose))] },
        { task: UPGRADE, state: { kubevirt } },
      )[0]?.outcome;
    expect([given('WorkloadUpdate'), given('UserRequested')]).toEqual(['Stuck', 'Passes']);
  });

  test.each<[string, NodeState, string]>([
    [
      'of a node that is being drained gets what is given for evacuations, also in an upgrade',
      'draining',
      'Passes',
    ],
    ['of a node that takes pods again does not', 'uncordoned', 'Stuck'],
  ])('an evacuation that is under way %s', (_, node, want) => {
    const evacuation = annotated(KUBEVIRT.evacuation, 'node1')(aMigration());
    const tenant = aTenant({
      quotas: [tight(0)],
      vmmrqs: [aClusterVmmrq(forPurposes('Evacuation'))],
      migrations: [evacuation],
    });
    const facts = { ...clusterFacts([tenant]), nodes: new Map([['node1', node]]) };
    expect(preflight(UPGRADE, facts).vms[0]).toMatchObject({ name: 'vm0', outcome: want });
  });

  test('an upgrade of which only the VMs that are left were looked at says so', () => {
    const facts = clusterFacts([aTenant()]);
    const lines = [false, true].map((onlyOutdated) =>
      summary(preflight(UPGRADE, { ...facts, onlyOutdated })),
    );
    const [all = [], left = []] = lines;
    expect(left.filter((line) => !all.includes(line))).toEqual([
      'Only the VMs that are outdated already; --all looks at every VM.',
    ]);
  });

  test.each<[string, Partial<NamespaceFacts>, string]>([
    [
      'where the namespace opts out of a raise',
      { quotas: [tight(0)], namespace: annotated(ANNOTATION.skip, 'true')(aNamespace()), vmmrqs: [aVmmrq()] },
      REASON.skipped,
    ],
    [
      'where a quota requires a value',
      {
        quotas: [aQuota(hard({ 'limits.memory': '1Ti' }))],
        vmis: [aVm('vm0')],
        pods: [aLauncher('vm0', podSpec({ containers: [{ name: 'compute' }, { name: 'other' }] }))],
      },
      REASON.mustSpecify,
    ],
    [
      'where a LimitRange refuses it',
      {
        limitRanges: [
          { metadata: metadata('range'), spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } },
        ],
      },
      REASON.limitRange,
    ],
  ])('%s', (_, tenant, reason) => {
    const [first] = outcomes(tenant);
    expect(first).toMatchObject({ outcome: 'Stuck', reason });
  });

  test('a VM whose state needs another volume claim that a quota refuses', () => {
    const vmi: VirtualMachineInstance = {
      ...aVm('vm0'),
      spec: { evictionStrategy: 'LiveMigrate', domain: { devices: { tpm: { persistent: true } } } },
    };
    const claim: PersistentVolumeClaim = {
      metadata: { ...metadata('state'), labels: { [KUBEVIRT.stateOf]: 'vm0' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
    };
    const quotas = [aQuota(hard({ persistentvolumeclaims: '1' }), used({ persistentvolumeclaims: '1' }))];
    const tenant = { vmis: [vmi], pods: [aLauncher()], claims: [claim] };
    expect(said(outcomes({ ...tenant, quotas }))).toBe('vm0 Stuck VolumeQuotaExceeded');
    const one = [aQuota(hard({ persistentvolumeclaims: '2' }), used({ persistentvolumeclaims: '1' }))];
    expect(said(outcomes({ ...tenant, quotas: one }))).toBe('vm0 Passes');
  });
});

describe('hotplugged volumes', () => {
  const source = aLauncher();
  const tenant = { vmis: [aVm('vm0')], pods: [source, anAttachment(source)] };
  const quota = (headroom: number): ResourceQuota =>
    aQuota(hard({ 'requests.cpu': `${String(1015 + headroom)}m` }), used({ 'requests.cpu': '1015m' }));
  const given = (cpu: string): Partial<NamespaceFacts> => ({ vmmrqs: [aVmmrq(giving({ cpu }))] });

  test.each<[string, Partial<NamespaceFacts>, string]>([
    ['both pods fit', { quotas: [quota(1015)] }, 'vm0 Passes'],
    [
      'the attachment pod does not',
      { quotas: [quota(1014)] },
      'vm0 Stuck NoVirtualMachineMigrationResourceQuota',
    ],
    ['a raise lets the attachment pod in', { quotas: [quota(1014)], ...given('1m') }, 'vm0 Passes'],
    ['a raise lets both in', { quotas: [quota(0)], ...given('1015m') }, 'vm0 Passes'],
    ['a raise is too little for both', { quotas: [quota(0)], ...given('1014m') }, 'vm0 Stuck NotEnough'],
  ])('%s', (_, different, want) => {
    expect(said(outcomes({ ...tenant, ...different }))).toBe(want);
  });

  test('a migration that is stuck with its target pod keeps its slot and its headroom', () => {
    const other = aLauncher('vm1');
    const quotas = [
      aQuota(
        hard({ 'requests.cpu': '3030m', 'limits.cpu': '150m' }),
        used({ 'requests.cpu': '2020m', 'limits.cpu': '100m' }),
      ),
    ];
    const kubevirt = aKubeVirt({
      migrations: { parallelMigrationsPerCluster: 1 },
      developerConfiguration: {},
    });
    const old = { ...kubevirt, status: { observedKubeVirtVersion: 'v1.4.0' } };
    const state = { kubevirt: old };
    const withLimits = podSpec({
      containers: [{ name: 'compute', resources: { requests: { cpu: '1005m' }, limits: { cpu: '0' } } }],
    });
    const vms = outcomes(
      {
        vmis: [aVm('vm0'), aVm('vm1')],
        pods: [withLimits(source), anAttachment(source), withLimits(other)],
        quotas,
      },
      { state },
    );
    expect(said(vms)).toBe(
      'vm0 Stuck NoVirtualMachineMigrationResourceQuota, vm1 Stuck ParallelLimitReached',
    );
  });
});

test('a quota that counts a pod that is gone: more in a VMMRQ is no answer', () => {
  const quotas = [aQuota(hard({ 'requests.cpu': '2410m' }), used({ 'requests.cpu': '3015m' }))];
  const pods = [aLauncher('vm0'), aLauncher('vm1')];
  const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '1005m' }))];
  expect(said(outcomes({ quotas, pods, vmmrqs }))).toBe('vm0 Stuck NotEnough, vm1 Stuck NotEnough');
  const uncharged = unchargedIn(quotas, pods);
  expect(said(outcomes({ quotas, pods, vmmrqs, uncharged }))).toBe(
    'vm0 Stuck QuotaNotRecounted, vm1 Stuck QuotaNotRecounted',
  );
});

test.each<[string, Change<ResourceQuota>, string]>([
  ['only our own raise makes', (quota) => quota, 'ResourceQuota quota is raised, and is lowered first'],
  [
    'an edit makes besides our own raise',
    specHard({ pods: '9', 'requests.cpu': '1405m', 'requests.memory': '2041974464' }),
    'ResourceQuota quota has pods=9 in spec.hard, and pods=10 in status.hard: the quota controller has not computed its status yet',
  ],
])('a status.hard that %s other than spec.hard: the message says so', (_, edit, want) => {
  const quotas = [aQuota(raisedBy(aVmmrq(giving({ 'requests.cpu': '1' }))), edit)];
  expect(outcomes({ quotas, vmis: [aVm('vm0')] })).toMatchObject([{ outcome: 'CannotTell', message: want }]);
});

describe('a quota that counts migrations as objects', () => {
  const KEY = 'count/virtualmachineinstancemigrations.kubevirt.io';
  const counting = (limit: string, count: string): ResourceQuota =>
    aQuota(named('objects'), hard({ [KEY]: limit }), used({ [KEY]: count }));
  const uncountedAt = (limit: string): ResourceQuota =>
    aQuota(named('objects'), (quota) => ({
      ...quota,
      spec: { hard: { [KEY]: limit } },
      status: { hard: { [KEY]: limit } },
    }));
  const ended = (count: number): Migration[] =>
    Array.from({ length: count }, (_, index) =>
      inPhase('Succeeded')(aMigration(named(`ended-${String(index)}`))),
    );
  const oneByOne = aQuota(hard({ 'requests.cpu': '3015m' }), used({ 'requests.cpu': '2010m' }));

  test.each<[string, Partial<NamespaceFacts>, string]>([
    [
      'refuses the first one',
      { quotas: [ROOMY, counting('1', '1')] },
      'vm0 Stuck MigrationQuotaExceeded, vm1 Stuck MigrationQuotaExceeded',
    ],
    [
      'refuses the second one: KubeVirt keeps the first',
      { quotas: [ROOMY, counting('2', '1')] },
      'vm0 Passes, vm1 Stuck MigrationQuotaExceeded',
    ],
    [
      'lets the second one in where KubeVirt keeps no more of the first VM',
      { quotas: [oneByOne, counting('6', '5')], ended: ended(5) },
      'vm0 Passes, vm1 PassesInTurn',
    ],
    ['lets both in', { quotas: [ROOMY, counting('3', '1')] }, 'vm0 Passes, vm1 Passes'],
    [
      'counts a migration that is there already',
      {
        migrations: [aMigration()],
        quotas: [ROOMY, counting('1', '1')],
      },
      'vm0 Passes, vm1 Stuck MigrationQuotaExceeded',
    ],
    [
      'is not counted yet, and is full without it',
      { quotas: [ROOMY, uncountedAt('1')], ended: ended(1) },
      'vm0 Stuck MigrationQuotaExceeded, vm1 Stuck MigrationQuotaExceeded',
    ],
    [
      'is not counted yet, and refuses each one until it is',
      { quotas: [ROOMY, uncountedAt('9')], ended: ended(1) },
      'vm0 CannotTell QuotaStatusUnknown, vm1 CannotTell QuotaStatusUnknown',
    ],
    [
      'has a scope, which no migration is in',
      { quotas: [ROOMY, scoped({ scopes: ['NotTerminating'] })(counting('1', '1'))] },
      'vm0 Passes, vm1 Passes',
    ],
  ])('%s', (_, tenant, want) => {
    expect(said(outcomes(tenant))).toBe(want);
  });

  test('names what it lacks, and no VMMRQ gives it', () => {
    const vmmrqs = [aVmmrq(giving({ [KEY]: '5', 'requests.cpu': '9' }))];
    const [vm] = outcomes({ quotas: [ROOMY, counting('1', '1')], vmmrqs });
    expect(vm).toMatchObject({ outcome: 'Stuck', missing: [{ quota: 'objects' }] });
    expect(vm?.message).toContain(`ResourceQuota objects lacks ${KEY}=1`);
  });
});

describe('an upgrade', () => {
  const byMemory = (mebibytes: number): ResourceQuota =>
    aQuota(
      hard({ 'requests.memory': String(1412828864 + 1412828864 + mebibytes * 1024 * 1024) }),
      used({ 'requests.memory': '1412828864' }),
    );
  const tenant = (mebibytes: number): Partial<NamespaceFacts> => ({
    vmis: [aVm('vm0')],
    pods: [aLauncher()],
    quotas: [byMemory(mebibytes)],
  });

  const margin = (overhead: string): Task => ({ kind: 'upgrade', overhead: parseQuantity(overhead) });
  const changing = {
    ...aVm('vm0'),
    status: { ...aVm('vm0').status, conditions: [{ type: 'VolumesChange', status: 'True' as const }] },
  };
  /** Room for the new launcher, but not with the margin. */
  const byLimit = aQuota(
    named('by-limit'),
    hard({ memory: String(2 * 1412828864 + 30 * 1024 * 1024) }),
    used({ memory: '1412828864' }),
  );

  test.each<[string, Task, readonly [number, number]]>([
    ['a margin of 64Mi for the new launcher', UPGRADE, [64, 63]],
    ['as much as the user says', margin('20Mi'), [20, 19]],
  ])('adds %s', (_, task, headrooms) => {
    const got = headrooms.map((mebibytes) => outcomes(tenant(mebibytes), { task })[0]?.outcome);
    expect(got).toEqual(['Passes', 'Stuck']);
  });

  // The functions raise by the API server's figures, which a refusal of the newer launcher has for the keys that it lacks.
  test.each<[string, Partial<NamespaceFacts>, string]>([
    ['as much as the user says', {}, 'vm0 Passes'],
    ['a margin, where a change of the VM waits too', { vmis: [changing] }, 'vm0 Stuck NotEnough'],
    ['a margin, where that lacks more keys', { quotas: [byMemory(0), byLimit] }, 'vm0 Stuck NotEnough'],
  ])('is given %s', (_, facts, want) => {
    const vmmrqs = [aVmmrq(giving({ 'requests.memory': '20Mi' }))];
    expect(said(outcomes({ ...tenant(0), vmmrqs, ...facts }, { task: margin('20Mi') }))).toBe(want);
  });

  test('a drain adds none', () => {
    expect(said(outcomes(tenant(0)))).toBe('vm0 Passes');
  });

  test('times KubeVirt’s own ratio', () => {
    const kubevirt = aKubeVirt({ additionalGuestMemoryOverheadRatio: '1.5' });
    const outcome = (mebibytes: number): unknown =>
      outcomes(tenant(mebibytes), { task: UPGRADE, state: { kubevirt } })[0]?.outcome;
    expect([outcome(96), outcome(95)]).toEqual(['Passes', 'Stuck']);
  });

  test('what earlier VMs keep is missing for later ones', () => {
    const quotas = [
      aQuota(
        hard({ 'requests.memory': String(3 * 1412828864 + 100 * 1024 * 1024) }),
        used({ 'requests.memory': String(2 * 1412828864) }),
      ),
    ];
    expect(said(outcomes({ quotas }, { task: UPGRADE }))).toBe(
      'vm0 Passes, vm1 Stuck NoVirtualMachineMigrationResourceQuota',
    );
  });
});

describe('a VM with a migration of its own', () => {
  const own = aMigration();

  test.each<[string, number, boolean, Migration, string]>([
    ['before an upgrade migrates again, with the new overhead', 64, false, own, 'vm0 PassesInTurn'],
    [
      'before an upgrade may get stuck then',
      63,
      false,
      own,
      'vm0 Stuck NoVirtualMachineMigrationResourceQuota',
    ],
    ['during an upgrade has the new launcher then', 0, true, own, 'vm0 Passes'],
    [
      'for an upgrade that has begun a moment ago is updated',
      0,
      false,
      withPriority('system-critical')(annotated(KUBEVIRT.workloadUpdate, '')(own)),
      'vm0 Passes',
    ],
  ])('that runs %s', (...[, mebibytes, onlyOutdated, migration, want]) => {
    const runs = inPhase('Running')(migration);
    const memory = 1412828864;
    const quotas = [
      aQuota(
        hard({ 'requests.memory': String(2 * memory + mebibytes * 1024 * 1024) }),
        used({ 'requests.memory': String(2 * memory) }),
      ),
    ];
    const pods = [aLauncher(), aTarget(runs, podPhase('Running'))];
    const tenant = aTenant({ vmis: [aVm('vm0')], pods, quotas, migrations: [runs] });
    const { vms } = preflight(UPGRADE, { ...clusterFacts([tenant], { migrations: [runs] }), onlyOutdated });
    expect(said(vms)).toBe(want);
  });

  test.each<[string, Partial<NamespaceFacts>, string]>([
    [
      'that runs is on its way',
      {
        migrations: [inPhase('Running')(own)],
        pods: [aLauncher(), aTarget(own, podPhase('Running')), aLauncher('vm1')],
      },
      'vm0 Passes, vm1 PassesInTurn',
    ],
    [
      'that is being deleted gets another one',
      { migrations: [beingDeleted()(own)] },
      'vm0 Stuck NoVirtualMachineMigrationResourceQuota, vm1 Stuck NoVirtualMachineMigrationResourceQuota',
    ],
    [
      'that waits is evaluated as it is',
      { migrations: [own], vmmrqs: [aClusterVmmrq()] },
      'vm0 Stuck PurposeNotServed, vm1 Passes',
    ],
  ])('%s', (_, tenant, want) => {
    expect(said(outcomes({ quotas: [tight(0)], ...tenant }))).toBe(want);
  });
});

describe('a launcher that is left over', () => {
  const leftOver = (vm: string): Pod => aLauncher(vm, named('left-over'), onNode('node2'));

  test('keeps its VM where it is: KubeVirt creates no target beside two launchers', () => {
    const pods = [aLauncher('vm0'), leftOver('vm0'), aLauncher('vm1')];
    expect(said(outcomes({ pods }))).toBe('vm0 Stuck LauncherLeftOver, vm1 Passes');
  });

  test('of another VM is usage that does not return, and is named', () => {
    const pods = [aLauncher('vm0'), aLauncher('vm1'), leftOver('vm1')];
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '1m' }))];
    const [vm0] = outcomes({ pods, vmis: [aVm('vm0')], quotas: [tight(0)], vmmrqs });
    expect(vm0).toMatchObject({ outcome: 'Stuck', reason: REASON.notEnough });
    expect(vm0?.message).toContain(
      'VM vm1 has 2 launchers and no migration (virt-launcher-vm1-source, left-over)',
    );
  });
});

test('a VM whose target pod has found no node for a minute may stay', () => {
  const since = new Date(NOW - 60_000).toISOString();
  const own = inPhase('Scheduling')({
    ...aMigration(),
    metadata: { ...aMigration().metadata, creationTimestamp: since },
  });
  const pods = [aLauncher(), aTarget(own, podPhase('Pending')), aLauncher('vm1')];
  expect(said(outcomes({ migrations: [own], pods, quotas: [ROOMY] }))).toBe(
    'vm0 CannotTell TargetPodNotReady, vm1 Passes',
  );
});

test('an outdated VM needs no label to be taken as such, and its own is no other', () => {
  const outdated = labelled(KUBEVIRT.outdatedLauncher, '')(aVm('vm0'));
  const pods: Pod[] = [aLauncher()];
  const quotas = [ROOMY];
  const plain = outcomes({ vmis: [aVm('vm0')], pods, quotas }, { task: UPGRADE });
  expect(outcomes({ vmis: [outdated], pods, quotas }, { task: UPGRADE })).toEqual(plain);
});

test('namespaces are taken in their order, and use each other’s slots', () => {
  const other = aTenant({
    namespace: named('zeta')(aNamespace()),
    vmis: [aVm('vm9')].map(inNamespace('zeta')),
    pods: [aLauncher('vm9')],
    quotas: [],
  });
  const { vms } = preflight(NODE, clusterFacts([aTenant(), other]));
  expect(vms.map(({ namespace, name, outcome }) => `${namespace}/${name} ${outcome}`)).toEqual([
    'tenant/vm0 Passes',
    'tenant/vm1 Passes',
    'zeta/vm9 PassesInTurn',
  ]);
});
