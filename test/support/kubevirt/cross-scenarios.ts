import type { KubernetesObject, ResourceList } from '../../../functions/domain/objects.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { CrossStep } from '../../cluster/kubevirt/decentralized/node-steps.ts';
import {
  createBoundClaim,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  newVirtualMachine,
  VMS,
  type VmOptions,
} from '../../cluster/kubevirt/objects/objects.ts';
import { LABELS } from '../../cluster/kubevirt/objects/names.ts';
import type {
  LauncherPod,
  RecordedEvent,
  RunStrategy,
  Vm,
  Vmi,
  Vmim,
} from '../../cluster/kubevirt/objects/types.ts';
import { CRASH_SCENARIOS } from './cross-crashes.ts';
import { KEEPING_FINALIZER } from './cross-differences.ts';
import { exchangeTrust, type KubeVirtPair, type PairSide } from './pair.ts';
import { rawText } from '../raw-text.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

/*
 * What the recorder's script did in each test/recorded/cross-*.jsonl, its marks as comments. VM `vm0` with the claim `root` moves from
 * the source to the target. What raced in the recordings, and could end otherwise on a slow machine, is held until its turn.
 */

const NAME = 'vm0';
const CLAIM = 'root';
const TIGHT = { pods: '10', 'requests.cpu': '300m', 'requests.memory': '600Mi' };
const RAISED = { pods: '10', 'requests.cpu': '2', 'requests.memory': '3Gi' };

/** One run of the script. */
export class CrossRun {
  readonly pair: KubeVirtPair;

  constructor(pair: KubeVirtPair) {
    this.pair = pair;
  }

  until(what: string, holds: () => boolean): Promise<void> {
    return this.pair.until(what, holds);
  }

  /** The newest version; undefined: it never was, or is gone. */
  newest<T extends KubernetesObject>(side: PairSide, type: ResourceType<T>, name = NAME): T | undefined {
    const last = side.versions.findLast(
      ({ kind, object }) => kind === type.kind && object.metadata.name === name,
    );
    return last === undefined || last.watch === 'DELETED' ? undefined : (last.object as T);
  }

  vm(side: PairSide): Vm | undefined {
    return this.newest(side, VMS);
  }

  vmi(side: PairSide): Vmi | undefined {
    return this.newest(side, FULL_VMIS);
  }

  migration(side: PairSide, name: string): Vmim | undefined {
    return this.newest(side, FULL_MIGRATIONS, name);
  }

  pods(side: PairSide): LauncherPod[] {
    const names = new Set(
      side.versions.filter(({ kind }) => kind === 'Pod').map(({ object }) => object.metadata.name),
    );
    return [...names].flatMap((name) => this.newest(side, LAUNCHER_PODS, name) ?? []);
  }

  /** Claims on both sides, and the source VM until it runs. */
  async begin(source: Partial<VmOptions> = {}): Promise<void> {
    const { pair } = this;
    for (const { admin, namespace } of [pair.source, pair.target])
      await createBoundClaim(admin, { namespace, name: CLAIM });
    await pair.source.admin.create(VMS, newVirtualMachine({ ...this.#vmIn(pair.source), ...source }));
    await this.until('the source VM runs', () => {
      const { printableStatus, ready } = this.vm(pair.source)?.status ?? {};
      return printableStatus === 'Running' && ready === true;
    });
  }

  #vmIn({ namespace }: PairSide): VmOptions {
    return { namespace, name: NAME, claims: [CLAIM], labels: { app: NAME } };
  }

  /** No other migration of the two clusters has it: KubeVirt looks in all namespaces. */
  #idOf(attempt: string): string {
    return `m${attempt}-x-${this.pair.target.namespace}`;
  }

  /** The target VM until it waits: "target VM is created". */
  async createReceiver(restoreRunStrategy: RunStrategy = 'Always'): Promise<void> {
    const { target } = this.pair;
    const vm = newVirtualMachine({
      ...this.#vmIn(target),
      runStrategy: 'WaitAsReceiver',
      restoreRunStrategy,
    });
    await target.admin.create(VMS, vm);
    await this.until('the target VM waits', () => {
      const hasVolumes = this.vmi(target)?.status?.migratedVolumes !== undefined;
      return this.vm(target)?.status?.printableStatus === 'WaitingForReceiver' && hasVolumes;
    });
  }

  /** "target VMIM is created": until its controllers wait for the other side. */
  async receive(attempt = ''): Promise<void> {
    const { admin, namespace } = this.pair.target;
    const name = `receive${attempt}`;
    await admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace, name, vmi: NAME, receives: this.#idOf(attempt) }),
    );
  }

  untilReceiverIsBlocked(attempt = ''): Promise<void> {
    return this.until('the target VMIM waits for the source', () => {
      const { conditions = [] } = this.migration(this.pair.target, `receive${attempt}`)?.status ?? {};
      return conditions.some(({ type }) => type === 'decentralizedMigrationBlocked');
    });
  }

  /** "source VMIM is created". */
  async send(attempt = '', connectURL = this.pair.target.address): Promise<void> {
    const { admin, namespace } = this.pair.source;
    const sends = { migrationID: this.#idOf(attempt), connectURL };
    await admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace, name: `send${attempt}`, vmi: NAME, sends }),
    );
  }

  /** Both VMs and VMIMs, as in every recording but two. */
  async start(
    source: Partial<VmOptions> = {},
    quota?: ResourceList,
    restoreRunStrategy?: RunStrategy,
  ): Promise<void> {
    await exchangeTrust(this.pair);
    if (quota !== undefined) await this.limit(quota);
    await this.begin(source);
    await this.createReceiver(restoreRunStrategy);
    await this.receive();
    await this.untilReceiverIsBlocked();
    await this.send();
  }

  async limit(hard: ResourceList): Promise<void> {
    const { admin, namespace } = this.pair.target;
    const at = { namespace, name: 'quota' };
    const known = await ignoreNotFound(admin.get(RESOURCE_QUOTAS, at));
    if (known === undefined) await admin.create(RESOURCE_QUOTAS, { metadata: at, spec: { hard } });
    else await admin.patch(RESOURCE_QUOTAS, at, { merge: { spec: { hard } } });
    await this.until('the quota is in force', () => {
      const { status } = this.newest(this.pair.target, RESOURCE_QUOTAS, 'quota') ?? {};
      return JSON.stringify(status?.hard) === JSON.stringify(hard) && status?.used !== undefined;
    });
  }

  /** No node takes this step before `work` is done. */
  async hold(step: CrossStep, work: () => Promise<void>): Promise<void> {
    const release = this.pair.transfers.hold(step);
    await work().finally(release);
  }

  /** As `start`; the guest is on its way during all of `work`. */
  onTheWay(work: () => Promise<void>): Promise<void> {
    return this.hold('transfer', async () => {
      await this.start();
      await this.untilRunning();
      await work();
    });
  }

  /**
   * `work` starts it; until the guest has arrived, which it does not before both sides know that it is on its way. Its old launcher stays
   * until the source VMIM is free: KubeVirt leaves the finalizer of a VMIM whose VMI goes first.
   */
  arrive(work: () => Promise<void>, attempt = ''): Promise<void> {
    return this.hold('leave', async () => {
      await this.hold('transfer', async () => {
        await work();
        await this.untilRunning(attempt);
      });
      await this.untilReceived(attempt);
    });
  }

  async untilReceived(attempt = ''): Promise<void> {
    await this.untilArrived(`receive${attempt}`);
    await this.untilFree(`send${attempt}`);
  }

  untilFree(name: string): Promise<void> {
    return this.until('the source VMIM is free', () => {
      const { metadata, status } = this.migration(this.pair.source, name) ?? {};
      return status?.phase === 'Succeeded' && metadata?.finalizers === undefined;
    });
  }

  /**
   * Creates the source VMIM of another attempt after one that was handed over and has not completed. Until it is handed over too, KubeVirt
   * drops what the target says, which says it once: no call sets out before.
   */
  async sendAgain(attempt: string): Promise<void> {
    const { source, network } = this.pair;
    const release = network.hold();
    const isHandedOver = (): boolean => {
      const { migrationUid } = this.vmi(source)?.status?.migrationState ?? {};
      return (
        migrationUid !== undefined && migrationUid === this.migration(source, `send${attempt}`)?.metadata.uid
      );
    };
    await this.send(attempt)
      .then(() => this.until('the source VMIM is handed over', isHandedOver))
      .finally(release);
  }

  /** Both sides: the guest is on its way, and each knows that of the other. */
  untilRunning(attempt = ''): Promise<void> {
    const { source, target } = this.pair;
    return this.until('both VMIMs are Running', () => {
      const isDetected = [source, target].every(
        (side) => this.vmi(side)?.status?.migrationState?.targetNodeDomainDetected === true,
      );
      const phases = [this.migration(source, `send${attempt}`), this.migration(target, `receive${attempt}`)];
      const areMigrating = [source, target].every(
        (side) => this.vm(side)?.status?.printableStatus === 'Migrating',
      );
      const isLabelled = this.pods(target).every(
        ({ metadata }) => metadata.labels?.[LABELS.nodeName] !== undefined,
      );
      return (
        isDetected && areMigrating && isLabelled && phases.every((one) => one?.status?.phase === 'Running')
      );
    });
  }

  deleteMigration(side: PairSide, name: string): Promise<void> {
    return side.admin.delete(FULL_MIGRATIONS, { namespace: side.namespace, name });
  }

  /** The source's pod dies without a word: the node is gone, say. */
  async loseSourcePod(): Promise<void> {
    const { admin, namespace } = this.pair.source;
    for (const { metadata } of this.pods(this.pair.source))
      await admin.delete(LAUNCHER_PODS, { namespace, name: metadata.name }, { gracePeriodSeconds: 0 });
  }

  async failTargetPod(): Promise<void> {
    const { admin, namespace } = this.pair.target;
    const conditions = [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }];
    const merge = { status: { phase: 'Failed', conditions } };
    for (const { metadata } of this.pods(this.pair.target)) {
      const at = { namespace, name: metadata.name };
      await admin.patch(LAUNCHER_PODS, at, { merge, subresource: 'status' });
    }
  }

  /** The source VM is Halted, and nothing of it runs. */
  untilMoved(strategy = 'Halted'): Promise<void> {
    const { source } = this.pair;
    return this.until('the source VM has moved', () => {
      const vm = this.vm(source);
      return (
        vm?.spec.runStrategy === strategy &&
        vm.status?.printableStatus === 'Stopped' &&
        vm.status.created !== true &&
        this.vmi(source) === undefined &&
        !this.hasMigrations(source)
      );
    });
  }

  untilArrived(name = 'receive'): Promise<void> {
    const { target } = this.pair;
    return this.until('the target VM runs', () => {
      const { metadata } = this.migration(target, name) ?? {};
      const isNamed = this.vmi(target)?.status?.interfaces?.[0]?.podInterfaceName !== undefined;
      return metadata?.finalizers === undefined && isNamed && isSettled(this.vm(target));
    });
  }

  hasMigrations({ versions }: PairSide): boolean {
    const names = new Set(
      versions.filter(({ kind }) => kind === FULL_MIGRATIONS.kind).map(({ object }) => object.metadata.name),
    );
    return [...names].some(
      (name) =>
        versions.findLast(
          ({ kind, object }) => kind === FULL_MIGRATIONS.kind && object.metadata.name === name,
        )?.watch !== 'DELETED',
    );
  }

  /** The guest has stayed where it was; the target VM waits again. */
  untilBack(): Promise<void> {
    const { source, target } = this.pair;
    return this.until('both VMs are as before', () => {
      const [from, to] = [this.vm(source)?.status, this.vm(target)?.status];
      return from?.printableStatus === 'Running' && to?.printableStatus === 'WaitingForReceiver';
    });
  }

  /** The quota has refused the pod, and all controllers say what they have to. */
  untilRefused(): Promise<void> {
    const { source, target } = this.pair;
    return this.until('the quota refuses the pod', () => {
      const types = this.migration(target, 'receive')?.status?.conditions?.map(({ type }) => type);
      const isQuiet = JSON.stringify(types) === JSON.stringify(['migrationRejectedByResourceQuota']);
      const isHeard = this.vmi(source)?.status?.migratedVolumes !== undefined;
      return isQuiet && isHeard && this.refusals(target) > 5 && !this.hasFailure(target);
    });
  }

  refusals({ versions }: PairSide): number {
    return versions.filter(({ object }) => (object as RecordedEvent).reason === 'FailedCreate').length;
  }

  /** The VM shows that its synchronization controller does not get through. */
  hasFailure(side: PairSide, text: ForeignText = ''): boolean {
    const conditions = this.vm(side)?.status?.conditions ?? [];
    return conditions.some(
      ({ type, message }) =>
        type === 'DecentralizedLiveMigrationFailure' && rawText(message).includes(rawText(text)),
    );
  }

  /** The VMIM and the VM show it, with a reason of the other side or of the network. */
  isOutOfTouch(side: PairSide, name: string): boolean {
    const { conditions = [] } = this.migration(side, name)?.status ?? {};
    const shown = conditions.find(
      ({ type, message }) =>
        type === 'decentralizedMigrationBlocked' &&
        /unable to locate VMI for migrationID \S+$|transport/.test(rawText(message)),
    );
    return shown !== undefined && this.hasFailure(side, shown.message);
  }

  untilAborting(side: PairSide, name: string): Promise<void> {
    return this.until(`${name} shows that it is deleted`, () => {
      const { conditions = [] } = this.migration(side, name)?.status ?? {};
      return conditions.some(({ type }) => type === 'migrationAbortRequested');
    });
  }

  /** `kubectl patch --type=merge` of its finalizers. */
  async free({ admin, namespace }: PairSide, name: string): Promise<void> {
    await admin.patch(FULL_MIGRATIONS, { namespace, name }, { merge: { metadata: { finalizers: null } } });
  }

  /** Adds a finalizer, with which it outlives its controllers' work. */
  async keep({ admin, namespace }: PairSide, name: string): Promise<void> {
    const { object } = await admin.get(FULL_MIGRATIONS, { namespace, name });
    const { finalizers = [], resourceVersion } = object.metadata;
    const merge = { metadata: { finalizers: [...finalizers, KEEPING_FINALIZER], resourceVersion } };
    await admin.patch(FULL_MIGRATIONS, { namespace, name }, { merge });
  }

  untilOnlyKept(side: PairSide, name: string): Promise<void> {
    return this.until(`nothing else keeps ${name}`, () => {
      const { finalizers = [] } = this.migration(side, name)?.metadata ?? {};
      return finalizers.every((finalizer) => finalizer === KEEPING_FINALIZER);
    });
  }

  /** The target's VMIM has failed; it may be gone already. */
  untilOver(name: string): Promise<void> {
    return this.until(`${name} is over`, () => {
      const migration = this.migration(this.pair.target, name);
      return migration === undefined || migration.status?.phase === 'Failed';
    });
  }

  /** The target's pod has ended by itself, and its VMI shows it. */
  untilPodEnded(): Promise<void> {
    const { target } = this.pair;
    return this.until('the target pod has ended', () => {
      const ready = this.vm(target)?.status?.conditions?.find(({ type }) => type === 'Ready');
      const { labels = {} } = this.vmi(target)?.metadata ?? {};
      return (
        ready?.reason === 'PodTerminating' && labels['kubevirt.io/migrationTargetNodeName'] === undefined
      );
    });
  }

  untilFailed(side: PairSide, name: string): Promise<void> {
    return this.until(`${name} has failed and is free`, () => {
      const { metadata, status } = this.migration(side, name) ?? {};
      return status?.phase === 'Failed' && metadata?.finalizers === undefined;
    });
  }

  /** Of a VMIM whose VMI has failed. Where the VMI was gone first, KubeVirt looks at the VMIM no more: it is freed here. */
  async untilGoneOrKept(name: string): Promise<void> {
    const { source } = this.pair;
    const isKept = (): boolean => {
      const { deletionTimestamp, finalizers = [] } = this.migration(source, name)?.metadata ?? {};
      return deletionTimestamp !== undefined && finalizers.length > 0 && this.vmi(source) === undefined;
    };
    await this.until(
      `${name} is gone, or kept`,
      () => this.migration(source, name) === undefined || isKept(),
    );
    if (isKept()) await ignoreNotFound(this.free(source, name));
  }

  untilGone(side: PairSide, name: string): Promise<void> {
    return this.until(`${name} is gone`, () => this.migration(side, name) === undefined);
  }
}

/** It runs, and the VM controller has seen its newest generation. */
function isSettled({ status = {} }: Partial<Vm> = {}): boolean {
  const { observedGeneration, desiredGeneration, printableStatus, ready } = status;
  return printableStatus === 'Running' && ready === true && observedGeneration === desiredGeneration;
}

export type CrossScenario = (run: CrossRun) => Promise<void>;

const cancelBoth = async (run: CrossRun): Promise<void> => {
  await run.deleteMigration(run.pair.target, 'receive');
  await run.deleteMigration(run.pair.source, 'send');
};

/** The target's launcher dies on the way: until both VMIMs have failed. */
async function failOnTheWay(run: CrossRun): Promise<void> {
  await run.onTheWay(async () => {
    await run.failTargetPod();
    await run.untilFailed(run.pair.target, 'receive');
    await run.untilFailed(run.pair.source, 'send');
  });
  await run.untilBack();
}

/** By the name of the recording without `cross-`. */
export const CROSS_SCENARIOS: Readonly<Record<string, CrossScenario>> = {
  ...CRASH_SCENARIOS,
  success: async (run) => {
    await run.arrive(() => run.start());
    await run.untilMoved();
  },
  quota: async (run) => {
    const { source, target } = run.pair;
    await run.arrive(async () => {
      await run.start({}, TIGHT);
      await run.untilRefused();
      // "quota is raised"
      await run.limit(RAISED);
      await run.until('the pod exists', () => run.pods(target).length > 0);
      // "quota is put back"
      await run.limit(TIGHT);
    });
    await run.untilMoved();
    await run.until('its pod is not charged', () => run.pods(source).length === 0);
  },
  'cancel-running': async (run) => {
    const { source, target } = run.pair;
    await run.onTheWay(async () => {
      await run.hold('end-receiver', async () => {
        // "both VMIMs are deleted"
        await run.hold('abort-sending', async () => {
          await cancelBoth(run);
          await run.untilAborting(source, 'send');
          await run.untilAborting(target, 'receive');
        });
        await run.untilOver('receive');
      });
      await run.untilGone(source, 'send');
      await run.untilGone(target, 'receive');
    });
    await run.untilBack();
    await run.untilPodEnded();
  },
  'target-fails': failOnTheWay,
  'source-fails': async (run) => {
    const { target } = run.pair;
    // The target's launcher notices it last, so that the target's controllers find the source's VMIM gone.
    await run.onTheWay(() =>
      run.hold('break-receiver', async () => {
        await run.loseSourcePod();
        await run.untilGoneOrKept('send');
        await run.untilMoved();
      }),
    );
    await run.untilFailed(target, 'receive');
    await run.until('the target waits', () => {
      const { labels = {} } = run.vmi(target)?.metadata ?? {};
      const isCleared = labels['kubevirt.io/migrationTargetNodeName'] === undefined;
      return isCleared && run.vm(target)?.status?.printableStatus === 'WaitingForReceiver';
    });
    await run.until('the target hears of nobody', () => run.isOutOfTouch(target, 'receive'));
  },
  'cancel-blocked-recovered': async (run) => {
    const { source, target } = run.pair;
    await run.start({}, TIGHT);
    await run.untilRefused();
    // "both VMIMs are deleted while the quota blocks"
    await cancelBoth(run);
    await run.untilGone(target, 'receive');
    await run.untilAborting(source, 'send');
    // "6 s later: ('Scheduling', 'gone')", a second source VMIM is created and deleted
    await run.send('2');
    await run.deleteMigration(source, 'send2');
    await run.untilGone(source, 'send2');
    await run.until('the source hears of nobody', () => run.isOutOfTouch(source, 'send'));
    // "finalizers of the stuck source VMIM are removed by hand"
    await run.free(source, 'send');
    await run.untilGone(source, 'send');
    // "quota is raised; second attempt"
    await run.limit(RAISED);
    await run.arrive(async () => {
      await run.receive('3');
      await run.until(
        'the target is prepared',
        () => run.migration(target, 'receive3')?.status?.phase === 'TargetReady',
      );
      await run.sendAgain('3');
    }, '3');
    await run.untilMoved();
  },
  'cancel-target-only': async (run) => {
    const { source, target } = run.pair;
    await run.hold('leave', async () => {
      // "only the target VMIM is deleted"
      await run.onTheWay(() => run.deleteMigration(target, 'receive'));
      await run.untilArrived();
      await run.untilGone(target, 'receive');
    });
    await run.until('the source hears of nobody', () => run.isOutOfTouch(source, 'send'));
  },
  'cancel-source-only': async (run) => {
    const { source, target } = run.pair;
    await run.onTheWay(() =>
      run.hold('end-receiver', async () => {
        // "only the source VMIM is deleted". Once it is gone, the target no longer learns that the guest does not come.
        await run.hold('abort-sending', async () => {
          await run.keep(source, 'send');
          await run.deleteMigration(source, 'send');
          await run.untilAborting(source, 'send');
        });
        await run.untilOver('receive');
        await run.untilOnlyKept(source, 'send');
        await run.free(source, 'send');
        await run.untilGone(source, 'send');
      }),
    );
    await run.untilFailed(target, 'receive');
    await run.untilBack();
    await run.untilPodEnded();
    await run.until('the target hears of nobody', () => run.isOutOfTouch(target, 'receive'));
  },
  rerun: async (run) => {
    const { source, target } = run.pair;
    await failOnTheWay(run);
    // "both VMIMs are deleted"
    await cancelBoth(run);
    await run.untilGone(source, 'send');
    await run.untilGone(target, 'receive');
    // "second attempt with the same target VM"
    await run.arrive(async () => {
      await run.receive('2');
      await run.untilReceiverIsBlocked('2');
      await run.send('2');
    }, '2');
    await run.untilMoved();
  },
  'leader-change-split': async (run) => {
    const { source } = run.pair;
    await run.hold('leave', async () => {
      // "only the source cluster's synchronization controller is restarted"
      await run.onTheWay(() => source.restartSynchronization());
      await run.untilReceived();
    });
    await run.until('the source pod has completed', () =>
      run.pods(source).every(({ status }) => status?.phase === 'Succeeded'),
    );
    await run.until('the source VM is not ready', () => run.vm(source)?.status?.ready !== true);
    // "the completed source launcher pod is deleted (node drained, pod garbage collection)"
    const before = run.vmi(source)?.metadata.uid;
    await run.loseSourcePod();
    await run.until('the source VM runs again', () => {
      const isNew = run.vmi(source)?.metadata.uid !== before;
      const { printableStatus, ready } = run.vm(source)?.status ?? {};
      return isNew && printableStatus === 'Running' && ready === true;
    });
    // KubeVirt deletes it when it sees the VMI gone; it may not see that before the next VMI is there.
    await ignoreNotFound(run.deleteMigration(source, 'send'));
  },
  'failed-then-source-crashes': async (run) => {
    const { source, target } = run.pair;
    await failOnTheWay(run);
    // "both VMIMs and the target VM are deleted"
    await cancelBoth(run);
    await run.untilGone(source, 'send');
    await run.untilGone(target, 'receive');
    await target.admin.delete(VMS, { namespace: target.namespace, name: NAME });
    await run.until('the target VM is gone', () => run.vm(target) === undefined);
    // "later the source launcher pod dies (nothing to do with migrations)"
    await run.loseSourcePod();
    await run.untilMoved();
  },
  rerunonfailure: async (run) => {
    await run.arrive(() => run.start({ runStrategy: 'RerunOnFailure' }));
    await run.untilMoved('RerunOnFailure');
  },
  'source-running-true': async (run) => {
    const { source } = run.pair;
    await run.arrive(() => run.start({ runStrategy: 'running' }));
    await run.until('the source VM has both', () => {
      const { spec, status } = run.vm(source) ?? {};
      return spec?.runStrategy === 'Halted' && status?.printableStatus === 'Stopped';
    });
  },
  unreachable: async (run) => {
    const { source, target } = run.pair;
    await exchangeTrust(run.pair);
    await run.begin();
    await run.createReceiver();
    await run.receive();
    await run.untilReceiverIsBlocked();
    // "source VMIM is created, address of nobody"
    await run.send('', '127.0.0.1:9999');
    await run.until('the source reports it', () => run.isOutOfTouch(source, 'send'));
    // "both VMIMs are deleted"
    await cancelBoth(run);
    await run.untilGone(source, 'send');
    await run.untilGone(target, 'receive');
    await run.until('both VMs are as before', () => [source, target].every((side) => !run.hasFailure(side)));
  },
  untrusted: async (run) => {
    const { source } = run.pair;
    await run.arrive(async () => {
      await run.begin();
      await run.createReceiver();
      await run.receive();
      await run.untilReceiverIsBlocked();
      await run.send();
      await run.until('the source reports it', () => run.isOutOfTouch(source, 'send'));
      // "CA bundles are exchanged"
      await exchangeTrust(run.pair);
    });
    await run.untilMoved();
  },
};
