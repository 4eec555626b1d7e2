import { ANNOTATION, EVENT, KUBEVIRT, LABEL } from '../../../functions/domain/names.ts';
import type {
  ClusterVmmrq,
  Migration,
  Namespace,
  Node,
  ResourceQuota,
  VirtualMachineInstance,
  Vmmrq,
} from '../../../functions/domain/objects.ts';
import {
  CLUSTER_VMMRQS,
  MIGRATIONS,
  NAMESPACES,
  NODES,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { breakGlassToken } from '../../../functions/domain/break-glass.ts';
import type { Fault } from './faults.ts';
import type { Vmi } from '../../cluster/kubevirt/objects/types.ts';
import { clusterVmmrq, quota, TENANT, vmmrq, type NewMigration } from './objects.ts';
import {
  changing,
  copied,
  current,
  isChanging,
  isOutdated,
  marks,
  unchanged,
  withoutMarks,
} from './origins.ts';
import type { Random } from '../engine/random.ts';
import type { World } from './world.ts';

/** Faults in the cluster between two turns. A fault whose object is missing does nothing. */
type Disturb = (world: World, random: Random) => unknown;

const quotas = ({ store }: World): readonly ResourceQuota[] =>
  store.list<ResourceQuota>(RESOURCE_QUOTAS.kind, TENANT);
const clusterVmmrqs = ({ store }: World): readonly ClusterVmmrq[] =>
  store.list<ClusterVmmrq>(CLUSTER_VMMRQS.kind);
const vmmrqs = ({ store }: World): readonly Vmmrq[] => store.list<Vmmrq>(VMMRQS.kind, TENANT);
const migrations = ({ store }: World): readonly Migration[] => store.list<Migration>(MIGRATIONS.kind);
const vmisOf = ({ store }: World): readonly Vmi[] => store.list<Vmi>(VMIS.kind);

/** Injects one of the faults, or none when its object is missing. */
const withOne = <T>(from: readonly T[], random: Random, act: (one: T) => unknown): unknown =>
  from.length > 0 ? act(random.pick(from)) : undefined;

const AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  'requests.cpu': ['500m', '1200m', '2100m', '3300m', '10'],
  'requests.memory': ['600Mi', '1300Mi', '2500Mi', '20Gi'],
  memory: ['700Mi', '1500Mi', '20Gi'],
  pods: ['1', '3', '4', '40'],
};

function newAmount(random: Random, key: string): string {
  return random.pick(AMOUNTS[key] ?? ['5']);
}

const newAllowance = (random: Random): Record<string, string> => ({
  'requests.cpu': random.pick(['0', '500m', '1', '2']),
  'requests.memory': random.pick(['0', '1Gi', '2Gi']),
});

/** One key of a quota with another amount. */
function changed(random: Random, { spec }: ResourceQuota): Record<string, string> {
  const key = random.pick(Object.keys(spec.hard ?? { pods: '1' }));
  return { [key]: newAmount(random, key) };
}

const FORGED = [EVENT.namespaceLocked, EVENT.quotaLowered, EVENT.lockExpired] as const;

export const DISTURBANCES: Readonly<Partial<Record<Fault, Disturb>>> = {
  cancelMigration: (world, random) =>
    withOne(migrations(world), random, ({ metadata: { name, namespace = TENANT } }) =>
      world.admin.delete(MIGRATIONS, { namespace, name }),
    ),
  newMigration: (world, random) => {
    const vmis = world.store.list<VirtualMachineInstance>(VMIS.kind);
    return withOne(vmis, random, ({ metadata: { name, namespace = TENANT } }) =>
      world.admin.create(MIGRATIONS, world.newMigration(name, namespace)),
    );
  },
  failMigration: (world, random) =>
    withOne(migrations(world), random, ({ metadata }) => world.failing.add(metadata.uid)),
  editQuota: (world, random) =>
    withOne(quotas(world), random, (one) =>
      world.admin.patch(
        RESOURCE_QUOTAS,
        { namespace: TENANT, name: one.metadata.name },
        { merge: { spec: { hard: changed(random, one) } } },
      ),
    ),
  putQuota: (world, random) =>
    withOne(quotas(world), random, (one) => {
      const hard = { ...one.spec.hard, ...changed(random, one) };
      // The resourceVersion of its read: another client may have written since.
      world.schedule.later('admin', random.below(60), () =>
        world.attempt(world.admin.replace(RESOURCE_QUOTAS, { ...one, spec: { ...one.spec, hard } })),
      );
    }),
  replaceQuota: (world, random) =>
    withOne(quotas(world), random, ({ metadata, spec, ...one }) => {
      const { labels: _labels, annotations: _annotations, ...bare } = metadata;
      const hard = random.chance(0.5) ? { ...spec.hard, ...changed(random, { ...one, metadata, spec }) } : {};
      return world.admin.replace(RESOURCE_QUOTAS, {
        ...one,
        metadata: bare,
        spec: { ...spec, hard: { ...spec.hard, ...hard } },
      });
    }),
  bypassQuota: (world, random) =>
    withOne(quotas(world), random, (one) => {
      const hard = { ...one.spec.hard, ...changed(random, one) };
      const edited: ResourceQuota = { ...one, spec: { ...one.spec, hard } };
      world.write('admin', edited);
    }),
  deleteQuota: (world, random) =>
    withOne(quotas(world), random, ({ metadata: { name } }) =>
      world.admin.delete(RESOURCE_QUOTAS, { namespace: TENANT, name }),
    ),
  remakeQuota: (world, random) =>
    withOne(quotas(world), random, ({ metadata: { name }, spec }) => {
      world.attempt(world.admin.delete(RESOURCE_QUOTAS, { namespace: TENANT, name }));
      const again = (): void =>
        world.attempt(world.admin.create(RESOURCE_QUOTAS, { metadata: { name, namespace: TENANT }, spec }));
      world.schedule.later('admin', random.below(8), again);
    }),
  createQuota: (world, random) => {
    const name = random.pick(Object.keys(world.scenario.quotas));
    const { metadata: _, ...rest } = quota(name, '', {
      'requests.cpu': newAmount(random, 'requests.cpu'),
      pods: newAmount(random, 'pods'),
    });
    return world.admin.create(RESOURCE_QUOTAS, { ...rest, metadata: { name, namespace: TENANT } });
  },
  editVmmrq: (world, random) =>
    withOne(vmmrqs(world), random, ({ metadata: { name } }) => {
      const raisePolicy = random.pick(['Exact', 'Fixed', null]);
      return world.admin.patch(
        VMMRQS,
        { namespace: TENANT, name },
        { merge: { spec: { additionalMigrationResources: newAllowance(random), raisePolicy } } },
      );
    }),
  deleteVmmrq: (world, random) =>
    withOne(vmmrqs(world), random, ({ metadata: { name } }) =>
      world.admin.delete(VMMRQS, { namespace: TENANT, name }),
    ),
  remakeVmmrq: (world, random) =>
    withOne(vmmrqs(world), random, ({ metadata: { name }, spec }) => {
      world.attempt(world.admin.delete(VMMRQS, { namespace: TENANT, name }));
      const { metadata: _, ...rest } = vmmrq('', '', {
        ...spec,
        ...(random.chance(0.5) ? { additionalMigrationResources: newAllowance(random) } : {}),
      });
      const again = (): void =>
        world.attempt(world.admin.create(VMMRQS, { ...rest, metadata: { name, namespace: TENANT } }));
      world.schedule.later('admin', random.below(8), again);
    }),
  createVmmrq: (world, random) => {
    const { metadata: _, ...rest } = vmmrq('', '', {
      additionalMigrationResources: { cpu: random.pick(['300m', '1']), memory: '1Gi' },
      raisePolicy: random.pick(['Exact', 'Fixed']),
    });
    return world.admin.create(VMMRQS, {
      ...rest,
      metadata: { name: world.newName('more'), namespace: TENANT },
    });
  },
  editClusterVmmrq: (world, random) =>
    withOne(clusterVmmrqs(world), random, ({ metadata: { name } }) => {
      const purposes = random.pick([null, ['Evacuation'], ['UserRequested'], ['Rebalance', 'UserRequested']]);
      const namespaceSelector = { matchLabels: random.chance(0.7) ? null : { touched: '1' } };
      const merge = {
        spec: { additionalMigrationResources: newAllowance(random), purposes, namespaceSelector },
      };
      return world.admin.patch(CLUSTER_VMMRQS, { name }, { merge });
    }),
  remakeClusterVmmrq: (world, random) =>
    withOne(clusterVmmrqs(world), random, ({ metadata: { name }, spec }) => {
      world.attempt(world.admin.delete(CLUSTER_VMMRQS, { name }));
      const { metadata: _, ...rest } = clusterVmmrq('', spec);
      const again = (): void =>
        world.attempt(world.admin.create(CLUSTER_VMMRQS, { ...rest, metadata: { name } }));
      world.schedule.later('admin', random.below(8), again);
    }),
  deleteClusterVmmrq: (world, random) =>
    withOne(clusterVmmrqs(world), random, ({ metadata: { name } }) =>
      world.admin.delete(CLUSTER_VMMRQS, { name }),
    ),
  cordon: (world, random) =>
    withOne(world.store.list<Node>(NODES.kind), random, ({ metadata: { name }, spec }) =>
      world.admin.patch(
        NODES,
        { name },
        { merge: { spec: { unschedulable: spec?.unschedulable !== true } } },
      ),
    ),
  touchNamespace: (world, random) =>
    world.admin.patch(
      NAMESPACES,
      { name: TENANT },
      { merge: { metadata: { labels: { touched: String(random.below(random.pick([2, 1_000]))) } } } },
    ),
  breakLock: (world) => {
    const namespace = world.store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT });
    const metadata = {
      annotations: {
        ...{ [ANNOTATION.lock]: null, [ANNOTATION.token]: null, [ANNOTATION.migrations]: null },
        [ANNOTATION.breakGlass]: breakGlassToken(namespace?.metadata.annotations),
      },
      labels: { [LABEL.locked]: null },
    };
    return world.breakGlass.patch(NAMESPACES, { name: TENANT }, { merge: { metadata } });
  },
  stealLabel: (world) =>
    world.tenant.patch(
      NAMESPACES,
      { name: TENANT },
      { merge: { metadata: { labels: { [LABEL.locked]: null } } } },
    ),
  forgeEvent: (world, random) => {
    const { lock, ended } = world.checker.tenant.locks;
    const tokens = [...ended, 'token-of-nobody'];
    const token = lock !== undefined && random.chance(0.6) ? lock.token : random.pick(tokens);
    // Mostly the event types that lead to writes.
    const type = random.pick([...Object.values(EVENT), ...FORGED, ...FORGED, ...FORGED]);
    world.publish({ type, from: 'somebody', namespace: TENANT, token });
  },
  lookAgain: (world, random) => {
    const { namespace, locks } = random.pick(world.checker.namespaces);
    const cause = world.newName('look');
    const event = { from: 'somebody', namespace, cause };
    const token = random.chance(0.5) ? locks.lock?.token : undefined;
    if (token === undefined) world.publish({ ...event, type: EVENT.resyncRequested });
    else world.publish({ ...event, type: EVENT.quotaLowered, token });
  },
  jumpSecond: (world, random) => world.schedule.advance(random.between(200, 3_000)),
  jumpLock: (world, random) => world.schedule.advance(random.between(5_000, 70_000)),
  clockStep: (world, random) => world.stepClock(random.between(1_000, 40_000)),
  killGuard: (world, random) => withOne(world.guards, random, (guard) => guard.kill()),
  brokerDown: (world, random) => world.away(world.broker, random.below(8_000)),
  sourceDown: (world, random) => world.away(world.source, random.below(8_000)),
  pauseQuotas: (world, random) => {
    const kind = random.below(100);
    if (kind < 5) world.quotas.isGone = true;
    else world.away(world.quotas, kind < 25 ? Infinity : random.below(6_000));
  },
  refuseRaises: (world) => (world.refusesRaises = !world.refusesRaises),
  recount: (world) => world.quotas.recount(),
  breakWatches: (world) => world.breakWatches(),
  copyMarks: (world, random) =>
    withOne(vmisOf(world), random, (vmi) =>
      random.pick([createCopied, markOwn, markVmi])(world, random, vmi),
    ),
  changeVm: (world, random) =>
    withOne(vmisOf(world), random, (vmi) =>
      world.write('kubevirt-controller', isChanging(vmi) ? unchanged(vmi) : changing(vmi, random)),
    ),
  outdate: (world, random) =>
    withOne(vmisOf(world), random, (vmi) =>
      world.write('kubevirt-controller', isOutdated(vmi) ? current(vmi) : world.origins.outdate(vmi)),
    ),
  stopKubeVirt: (world, random) => {
    world.renewLease();
    world.away(world.kubevirt, random.between(1_000, 60_000));
  },
};

/** Each as far as the API server lets the tenant. */
type Copy = (world: World, random: Random, vmi: Vmi) => unknown;

/** The policy `purposes` refuses the marks; all else that KubeVirt writes on its own migrations remains. */
const createCopied: Copy = async (world, random, vmi) => {
  const migration = copied(world.ownMigration(vmi), random);
  const create = (one: NewMigration): Promise<unknown> => world.tenant.create(MIGRATIONS, one);
  await create(migration).catch(() => create(withoutMarks(migration)));
};

const markOwn: Copy = (world, random) =>
  withOne(migrations(world), random, ({ metadata: { name, namespace = TENANT } }) =>
    world.tenant.patch(
      MIGRATIONS,
      { namespace, name },
      { merge: { metadata: { annotations: marks(random) } } },
    ),
  );

/** The tenant undoes its change, so that the launcher would be the only reason for an update. */
const markVmi: Copy = (world, _, vmi) => {
  const { name, namespace = TENANT } = vmi.metadata;
  world.write('kubevirt-controller', unchanged(vmi));
  const labels = { [KUBEVIRT.outdatedLauncher]: '' };
  return world.tenant.patch(VMIS, { namespace, name }, { merge: { metadata: { labels } } });
};

export const DISTURBING = Object.keys(DISTURBANCES) as Fault[];
