import { readFileSync } from 'node:fs';
import type { Plan, PlanMigration, PlanVm } from '../../../functions/domain/live/forklift.ts';
import {
  LIVE_ACCOUNT,
  LIVE_ANNOTATION,
  LIVE_EVENT,
  LIVE_LABEL,
} from '../../../functions/domain/live/names.ts';
import type { KubernetesObject, ResourceList } from '../../../functions/domain/objects.ts';
import { sameQuantity } from '../../../functions/domain/quantity.ts';
import type { Requester } from '../../../functions/domain/live/requester.ts';
import { liveEvent } from '../../../functions/eventing/live-events.ts';
import type { PostedEvent } from '../../../functions/eventing/posted-event.ts';
import type { Answer, Handle } from '../../../functions/host/function.ts';
import type { Address, Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
} from '../../../functions/kubernetes/live-resources.ts';
import { refusingOwnPods } from '../../../functions/live/read/cluster-addresses.ts';
import { Remotes } from '../../../functions/live/read/remote.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { KUBEVIRTS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { newLiveFunction } from '../../../functions/live/function.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import { SYSTEM_NAMESPACE, userOf } from '../../../functions/domain/names.ts';
import { objectsOf, render } from '../../cluster/controlplane/kustomize.ts';
import { typeOf } from '../../cluster/install.ts';
import { renderInstallation } from '../../cluster/overlay.ts';
import {
  FULL_CLAIMS,
  newVirtualMachine,
  VMS,
  type VmOptions,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import type { MemberCluster } from '../../cluster/several-clusters.ts';
import { askUntil } from '../eventually.ts';
import { completeMigrations } from './vmim-defaults.ts';
import { untilAllowed } from '../environment/roles.ts';
import type { KubeVirtPair, PairSide } from '../kubevirt/pair.ts';
import { newLines, type Line } from '../environment/function-host.ts';

/** Forklift's kinds, as their admin installs them. */
export async function installForkliftKinds(admin: Cluster): Promise<void> {
  for (const crd of await render('config/crd-forklift')) await admin.create(CRDS, crd);
  for (const type of [PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS, HOOKS])
    await untilServed(admin, type);
}

const ACCOUNT = { namespace: SYSTEM_NAMESPACE, name: LIVE_ACCOUNT };
/** Of `live`. */
export const LIVE_USER = userOf(ACCOUNT.name);
const RIGHTS = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

/** The component's accounts with their rights, and nothing else of it; resolves with the kubeconfig of `live`. */
export async function installLiveAccount(member: MemberCluster): Promise<string> {
  const objects = objectsOf(await renderInstallation({ overlay: 'default', components: ['live-migration'] }));
  const ofLive = objects.filter(
    ({ kind = '', metadata: { name } }) => RIGHTS.includes(kind) && name.includes('live'),
  );
  return installAccount(member, ofLive);
}

/** What the admin of another cluster applies; resolves with the kubeconfig of the account that providers use. */
export const installMemberAccount = async (member: MemberCluster): Promise<string> =>
  installAccount(member, await render('config/live-member'));

async function installAccount(
  { admin, controlPlane }: MemberCluster,
  objects: readonly KubernetesObject[],
): Promise<string> {
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  for (const object of objects) await admin.create(typeOf(object), object);
  await untilAllowed(admin, LIVE_USER, { verb: 'list', ...VMIMS_ASKED, allowed: true });
  return controlPlane.kubeconfigFor(ACCOUNT);
}

const VMIMS_ASKED = { group: 'kubevirt.io', resource: 'virtualmachineinstancemigrations' };

/** What an admin applies in each namespace with Secrets that take part. */
async function allowSecrets(admin: Cluster, namespace: string): Promise<void> {
  for (const object of await render('config/components/live-migration/namespace')) {
    const placed = { ...object, metadata: { ...object.metadata, namespace } };
    await admin.create(typeOf(placed), placed);
  }
  await untilAllowed(admin, LIVE_USER, {
    verb: 'get',
    group: '',
    resource: 'secrets',
    namespace,
    allowed: true,
  });
}

/** What a cluster needs to take part: the gate of its KubeVirt, and the storage classes `fast` and `gold`. */
export async function prepareMember(admin: Cluster): Promise<void> {
  const merge = {
    spec: { configuration: { developerConfiguration: { featureGates: ['DecentralizedLiveMigration'] } } },
  };
  await admin.patch(KUBEVIRTS, { namespace: 'kubevirt', name: 'kubevirt' }, { merge });
  const provisioner = { provisioner: 'example.com/disks' } as object;
  for (const name of ['fast', 'gold'])
    await admin.create(STORAGE_CLASSES, { metadata: { name }, ...provisioner });
  await completeMigrations(admin);
}

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { token: string } }];
}

/** How a Provider's Secret says it. */
export function accessOf(kubeconfig: string): { url: string; ca: string; token: string } {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  return { url: server, ca: Buffer.from(ca, 'base64').toString('utf8'), token: users[0].user.token };
}

let macs = 0;

/** The stand-in gives every guest the same one, which a plan refuses for a second VM on the target. */
function nextMac(): string {
  macs += 1;
  return `52:54:00:00:00:${macs.toString(16).padStart(2, '0')}`;
}

function withMac(vm: New<Vm>, macAddress: string): New<Vm> {
  const { spec } = vm.spec.template;
  const { devices } = spec.domain;
  const interfaces = (devices['interfaces'] as object[]).map((one) => ({ ...one, macAddress }));
  const domain = { ...spec.domain, devices: { ...devices, interfaces } };
  return { ...vm, spec: { ...vm.spec, template: { ...vm.spec.template, spec: { ...spec, domain } } } };
}

export interface MoveOptions {
  readonly hub: MemberCluster;
  /** The kubeconfigs with the providers' tokens; left out: those of the admins. */
  readonly access?: Partial<Record<'source' | 'target', string>>;
  readonly members: Readonly<Record<'source' | 'target', MemberCluster>>;
  readonly pair: KubeVirtPair;
  /** Of the plan and what it refers to, on the hub. */
  readonly namespace: string;
  /** Who writes Providers, maps and plan, where no guard writes it on them; left out: who may do all. */
  readonly author?: Requester;
}

/** Who may do all. */
const ANYBODY: Requester = { user: 'an-admin', groups: ['system:masters'] };

const SIDES = ['source', 'target'] as const;
const PLAN = 'move';

/** The run has ended, and nothing holds it. */
export const isOver = ({ status, metadata }: PlanMigration): boolean =>
  status?.completed !== undefined && metadata.finalizers === undefined;

export interface VmDetails {
  /** Left out: one. */
  readonly disks?: readonly string[];
  /** Left out: Always. One that KubeVirt never starts by itself is started. */
  readonly runStrategy?: VmOptions['runStrategy'];
  readonly change?: (vm: New<Vm>) => New<Vm>;
}

/** A plan on a real API server, and what its user does. */
export class PlannedMove {
  readonly #options: MoveOptions;
  #migration = 'move-1';

  constructor(options: MoveOptions) {
    this.#options = options;
  }

  get admin(): Cluster {
    return this.#options.hub.admin;
  }

  /** Resolves when it runs. */
  async createVm(
    name: string,
    { disks = ['root'], runStrategy = 'Always', change = (vm) => vm }: VmDetails = {},
  ): Promise<void> {
    const { namespace, admin } = this.#options.pair.source;
    const claims = disks.map((disk) => `${name}-${disk}`);
    for (const claim of claims) await this.#createClaim(claim);
    const vm = newVirtualMachine({ namespace, name, claims, labels: { app: name }, runStrategy });
    await admin.create(VMS, change(withMac(vm, nextMac())));
    // As `virtctl start` asks for it.
    const started = { merge: { status: { stateChangeRequests: [{ action: 'Start' }] } } };
    if (runStrategy === 'Manual')
      await admin.patch(VMS, { namespace, name }, { ...started, subresource: 'status' });
    await this.untilRunning(name);
  }

  /** On the source. */
  async untilRunning(name: string): Promise<void> {
    const { namespace, admin } = this.#options.pair.source;
    await untilRunning(admin, { namespace, name });
  }

  async #createClaim(name: string): Promise<void> {
    const { namespace, admin } = this.#options.pair.source;
    await admin.create(FULL_CLAIMS, {
      metadata: { namespace, name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        volumeName: `volume-of-${namespace}-${name}`,
        resources: { requests: { storage: '5Gi' } },
      },
    });
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' } };
    await admin.patch(FULL_CLAIMS, { namespace, name }, { merge: { status }, subresource: 'status' });
  }

  /** ResourceQuota `quota` in the target namespace, new or with these amounts from now on; resolves when it is counted. */
  async limitTarget(hard: ResourceList): Promise<void> {
    const { admin, namespace } = this.side('target');
    const at = { namespace, name: 'quota' };
    const merge = { spec: { hard } };
    await admin.create(RESOURCE_QUOTAS, { metadata: at, ...merge }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
      return admin.patch(RESOURCE_QUOTAS, at, { merge });
    });
    await askUntil(
      'the quota is counted',
      async () => (await admin.get(RESOURCE_QUOTAS, at)).object,
      ({ status }) =>
        Object.entries(hard).every(([key, amount]) => {
          const enforced = status?.hard?.[key] ?? '';
          return sameQuantity(enforced, amount) && status?.used?.[key] !== undefined;
        }),
    );
  }

  /** Providers, maps and the plan of these VMs. */
  async createPlan(vms: readonly PlanVm[], different: Partial<Plan['spec']> = {}): Promise<void> {
    const { namespace, pair } = this.#options;
    const { admin } = this;
    await admin.create(NAMESPACES, { metadata: { name: namespace } });
    const { hub, members } = this.#options;
    const own = SIDES.filter((side) => members[side].id === hub.id).map((side) => pair[side].namespace);
    for (const each of [namespace, ...own]) await allowSecrets(admin, each);
    for (const side of SIDES.filter((one) => this.#options.access?.[one] !== undefined))
      await allowSecrets(members[side].admin, pair[side].namespace);
    await this.#createProvider('source');
    await this.#createProvider('target');
    const named = (name: string): { namespace: string; name: string } => ({ namespace, name });
    const provider = { source: named('source'), destination: named('target') };
    await admin.create(STORAGE_MAPS, {
      metadata: this.written('storage'),
      spec: {
        provider,
        map: [
          {
            source: { name: 'fast' },
            destination: { storageClass: 'gold', accessMode: 'ReadWriteOnce' },
          },
        ],
      },
    });
    await admin.create(NETWORK_MAPS, {
      metadata: this.written('networks'),
      spec: { provider, map: [{ source: { type: 'pod' }, destination: { type: 'pod' } }] },
    });
    await admin.create(PLANS, {
      metadata: this.written(PLAN),
      spec: {
        type: 'live',
        provider,
        targetNamespace: pair.target.namespace,
        map: { network: named('networks'), storage: named('storage') },
        vms: vms.map((vm) => ({ namespace: pair.source.namespace, ...vm })),
        ...different,
      },
    });
  }

  /** As the guard has it. A guard that is there writes the user of the request in its place. */
  written(name: string): { namespace: string; name: string; annotations: Record<string, string> } {
    const { namespace, author = ANYBODY } = this.#options;
    return { namespace, name, annotations: { [LIVE_ANNOTATION.requester]: JSON.stringify(author) } };
  }

  /** Of the hub's own cluster without a URL. */
  async #createProvider(side: 'source' | 'target'): Promise<void> {
    const { namespace, members, hub, access = {} } = this.#options;
    const at = { namespace, name: side };
    const metadata = this.written(side);
    if (members[side].id === hub.id) {
      await this.admin.create(PROVIDERS, { metadata, spec: { type: 'openshift', url: '', secret: {} } });
      return;
    }
    const { [side]: kubeconfig = members[side].controlPlane.adminKubeconfig } = access;
    const { url, ca, token } = accessOf(kubeconfig);
    const data = Object.fromEntries(
      Object.entries({ url, token, 'ca.crt': ca }).map(([key, text]) => [
        key,
        Buffer.from(text).toString('base64'),
      ]),
    );
    await this.admin.create(SECRETS, {
      metadata: { ...at, labels: { [LIVE_LABEL.provider]: 'true' } },
      data,
    });
    await this.admin.create(PROVIDERS, { metadata, spec: { type: 'openshift', url, secret: at } });
  }

  /** From here on it is the one that is meant. */
  async createMigration(
    annotations: Readonly<Record<string, string>> = {},
    name = this.#migration,
  ): Promise<void> {
    const { namespace } = this.#options;
    this.#migration = name;
    await this.admin.create(PLAN_MIGRATIONS, {
      metadata: { namespace, name, annotations },
      spec: { plan: { namespace, name: PLAN } },
    });
  }

  async patchMigration(merge: Record<string, unknown>): Promise<void> {
    await this.admin.patch(PLAN_MIGRATIONS, this.migrationAt, { merge });
  }

  async patchPlan(merge: Record<string, unknown>): Promise<void> {
    const { namespace } = this.#options;
    await this.admin.patch(PLANS, { namespace, name: PLAN }, { merge });
  }

  async deleteMigration(): Promise<void> {
    await this.admin.delete(PLAN_MIGRATIONS, this.migrationAt);
  }

  get migrationAt(): { namespace: string; name: string } {
    return { namespace: this.#options.namespace, name: this.#migration };
  }

  async migration(): Promise<PlanMigration> {
    return (await this.admin.get(PLAN_MIGRATIONS, this.migrationAt)).object;
  }

  /** Before each reading of `until`. */
  protected look(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves with the Migration once it is so. */
  async until(
    what: string,
    holds: (migration: PlanMigration) => boolean | Promise<boolean>,
  ): Promise<PlanMigration> {
    const { migration } = await askUntil(
      what,
      async () => {
        await this.look();
        const seen = await this.migration();
        return { migration: seen, isSo: await holds(seen) };
      },
      ({ isSo }) => isSo,
    );
    return migration;
  }

  untilEnded(): Promise<PlanMigration> {
    return this.until('it has ended', isOver);
  }

  async plan(): Promise<Plan> {
    return (await this.admin.get(PLANS, { namespace: this.#options.namespace, name: PLAN })).object;
  }

  /** Of everything that a run holds on the hub. */
  async finalizers(): Promise<string[]> {
    const { namespace } = this.#options;
    const lists = await Promise.all(
      [PLAN_MIGRATIONS, PLANS, PROVIDERS, SECRETS].map((type) =>
        this.admin.list(type as ResourceType, { namespace }),
      ),
    );
    return lists.flatMap(({ items }) => items.flatMap(({ metadata }) => metadata.finalizers ?? []));
  }

  get pair(): KubeVirtPair {
    return this.#options.pair;
  }

  side(which: 'source' | 'target'): PairSide {
    return this.pair[which];
  }
}

export interface CrossingOptions extends MoveOptions {
  /** Of `live` on the hub (installLiveAccount). */
  readonly kubeconfig: string;
  readonly maxVmsInFlight?: number;
}

/** `live` in this process, which gets the events of a resync. */
export class Crossing extends PlannedMove {
  readonly posted: PostedEvent[] = [];
  readonly lines: Line[];
  readonly #handle: Handle;

  constructor(options: CrossingOptions) {
    super(options);
    const { lines, log } = newLines();
    this.lines = lines;
    const hub = connect(options.kubeconfig, 'live');
    this.#handle = newLiveFunction({
      hub,
      remotes: new Remotes({
        allowLoopback: true,
        isRefused: refusingOwnPods(hub, []),
        maxKeptBytes: 1024 * 1024,
        memoryBytes: 48 * 1024 * 1024,
        ...{ clock: systemClock, log },
      }),
      clock: systemClock,
      log,
      maxVmsInFlight: options.maxVmsInFlight ?? 20,
      post: (event) => Promise.resolve(void this.posted.push(event)),
    });
  }

  /** By this user, as the guard writes it. */
  createMigrationAs(requester: Requester = ANYBODY, name?: string): Promise<void> {
    return this.createMigration({ [LIVE_ANNOTATION.requester]: JSON.stringify(requester) }, name);
  }

  /** The guard's resync of the Migration, or of the plan. */
  resync(kind: 'Migration' | 'Plan' = 'Migration'): Promise<Answer> {
    const { namespace } = this.migrationAt;
    const name = kind === 'Plan' ? PLAN : this.migrationAt.name;
    const about = { kind, namespace, name };
    const cause = String(performance.now());
    return this.#handle({}, liveEvent({ type: LIVE_EVENT.resync, from: 'guard', about, cause }));
  }

  protected override async look(): Promise<void> {
    await this.resync();
  }
}

/** The types of an object's conditions. */
export const conditionsOf = ({
  status,
}: {
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}): string[] => (status?.conditions ?? []).map(({ type }) => type);

/** A VM says that it runs a moment after its VMI does. */
export const untilRunning = (admin: Cluster, at: Required<Address>): Promise<Vm> =>
  askUntil(
    `${at.name} runs`,
    async () => (await admin.get(VMS, at)).object,
    ({ status }) => status?.printableStatus === 'Running' && status.ready === true,
  );
