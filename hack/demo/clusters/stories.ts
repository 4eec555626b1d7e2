import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isSame } from '../../../functions/domain/same.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { getOrUndefined } from '../../../functions/live/read/get.ts';
import { INSTANCETYPES, PROVIDERS, SECRETS } from '../../../functions/kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { CrossStep } from '../../../test/cluster/kubevirt/decentralized/node-steps.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../../test/cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../../test/cluster/kubevirt/objects/types.ts';
import { askUntil } from '../../../test/support/eventually.ts';
import type { PlannedMove, VmDetails } from '../../../test/support/live/crossing.ts';
import type { KubeVirtPair, PairSide } from '../../../test/support/kubevirt/pair.ts';

/** The objects that a story works with. */
export interface Scene {
  readonly pair: KubeVirtPair;
  readonly move: PlannedMove;
  /** The namespace of the plan and of the objects that it refers to. */
  readonly plans: string;
  readonly note: (text: string) => void;
}

/** Names a check and, where it does not hold, what is wrong. */
export type Check = readonly [name: string, wrong: string | undefined];

export interface Story {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly vm?: VmDetails;
  /** Runs before the VM is created. */
  readonly prepare?: (pair: KubeVirtPair) => Promise<void>;
  /** Runs once the Migration is created. */
  readonly during?: (scene: Scene) => Promise<void>;
  readonly end: 'Succeeded' | 'Canceled';
  readonly checks?: (scene: Scene) => Promise<Check[]>;
}

const QUOTA = 'quota';
const LOGIN = 'login';
const SMALL = 'small';
const HARD = { 'requests.memory': '1Mi' };

/** Adds a Secret for cloud-init, and an instance type. */
function withLogin(vm: New<Vm>): New<Vm> {
  const { spec } = vm.spec.template;
  const volume = { name: LOGIN, cloudInitNoCloud: { secretRef: { name: LOGIN } } };
  const volumes = [...((spec['volumes'] as object[] | undefined) ?? []), volume];
  const instancetype = { kind: INSTANCETYPES.kind, name: SMALL };
  return {
    ...vm,
    spec: { ...vm.spec, instancetype, template: { ...vm.spec.template, spec: { ...spec, volumes } } },
  } as New<Vm>;
}

async function fillTarget({ source, target }: KubeVirtPair): Promise<void> {
  const { namespace, admin } = target;
  await admin.create(RESOURCE_QUOTAS, { metadata: { namespace, name: QUOTA }, spec: { hard: HARD } });
  const spec = { additionalMigrationResources: { 'requests.memory': '4Gi' }, allowReceive: true };
  await admin.create(VMMRQS, { metadata: { namespace, name: 'more' }, spec });
  const own = { namespace: source.namespace };
  const data = { userdata: Buffer.from('#cloud-config').toString('base64') };
  await source.admin.create(SECRETS, { metadata: { ...own, name: LOGIN }, data });
  const cpu = { guest: 1 };
  const small = { metadata: { ...own, name: SMALL }, spec: { cpu, memory: { guest: '1Gi' } } };
  await source.admin.create(INSTANCETYPES, small);
}

const untilGoingBack = (move: PlannedMove): Promise<unknown> =>
  move.until(
    'the run goes back',
    ({ status }) => status?.completed !== undefined || status?.vms?.[0]?.phase === 'Undo',
  );

const hasRunning = ({ versions }: PairSide, { kind: wanted }: ResourceType): boolean =>
  versions.some(({ kind, object }) => {
    const { status } = object as { readonly status?: { readonly phase?: string } };
    return kind === wanted && status?.phase === 'Running';
  });

const untilCopied = (pair: KubeVirtPair): Promise<void> =>
  pair.until('the guest is being copied', () => hasRunning(pair.source, FULL_MIGRATIONS));

const cancel = (move: PlannedMove): Promise<void> =>
  move.patchMigration({ spec: { cancel: [{ name: 'web' }] } });

type During = (scene: Scene) => Promise<void>;

const allowOverQuota: During = async ({ move, plans, note }) => {
  await move.until('it says what is missing', ({ status }) =>
    JSON.stringify(status ?? {}).includes('allowOverQuota'),
  );
  note('the admin allows it for this provider: allowOverQuota: "true"');
  const merge = { spec: { settings: { allowOverQuota: 'true' } } };
  await move.admin.patch(PROVIDERS, { namespace: plans, name: 'target' }, { merge });
};

const isAsBefore = ({ status }: ResourceQuota): boolean => isSame(status?.hard, HARD);

async function checkCopies({ pair: { target } }: Scene): Promise<Check[]> {
  const { admin, namespace } = target;
  const login = await getOrUndefined(admin.get(SECRETS, { namespace, name: LOGIN }));
  const small = await getOrUndefined(admin.get(INSTANCETYPES, { namespace, name: SMALL }));
  // The lock may end after the run.
  const { items: quotas } = await askUntil(
    'the namespace is unlocked',
    () => admin.list(RESOURCE_QUOTAS, { namespace }),
    ({ items }) => items.every(isAsBefore),
  );
  const notThere = (object: unknown): string | undefined => (object === undefined ? 'it is not' : undefined);
  return [
    [`Secret ${LOGIN} is on the target`, notThere(login)],
    [`instance type ${SMALL} is on the target`, notThere(small)],
    ['the quota is as before', quotas.every(isAsBefore) ? undefined : 'its status.hard is raised'],
  ];
}

/** Runs `work` while no node takes the step. */
async function holding(pair: KubeVirtPair, step: CrossStep, work: () => Promise<void>): Promise<void> {
  const release = pair.transfers.hold(step);
  await work().finally(release);
}

const cancelMidway: During = ({ pair, move, note }) =>
  holding(pair, 'transfer', async () => {
    await untilCopied(pair);
    note('the user cancels it, while memory is copied');
    await cancel(move);
    await untilGoingBack(move);
  });

const cancelTooLate: During = ({ pair, move, note }) =>
  holding(pair, 'leave', async () => {
    await pair.until('the guest runs on the target', () => hasRunning(pair.target, FULL_VMIS));
    note('the user cancels it, but the guest has arrived');
    await cancel(move);
  });

const restart: During = ({ pair, note }) =>
  holding(pair, 'transfer', async () => {
    await untilCopied(pair);
    note("the source's synchronization controller restarts");
    await pair.source.restartSynchronization();
  });

export const STORIES: readonly Story[] = [
  {
    name: 'full',
    title: 'Into a full namespace',
    about:
      'Two disks, a Secret and an instance type; the quota of the target has room for nothing, a VMMRQ lets the VM in.',
    vm: { disks: ['root', 'data'], change: withLogin },
    prepare: fillTarget,
    during: allowOverQuota,
    end: 'Succeeded',
    checks: checkCopies,
  },
  {
    name: 'canceled',
    title: 'Canceled before the cut-over',
    about: 'The guest stays where it is, and nothing of the move is left.',
    during: cancelMidway,
    end: 'Canceled',
  },
  {
    name: 'too-late',
    title: 'Canceled after the cut-over',
    about: 'The guest runs on the target already, so the move is completed.',
    during: cancelTooLate,
    end: 'Succeeded',
  },
  {
    name: 'restarted',
    title: 'A controller restarts midway',
    about: "The source's synchronization controller is started again while memory is copied.",
    during: restart,
    end: 'Succeeded',
  },
];
