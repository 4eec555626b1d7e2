import { KUBEVIRT as NAMES } from '../../functions/domain/names.ts';
import {
  isFinal,
  isRejectedByQuota,
  sourcePodOf,
  targetPodOf,
  referenceOf,
} from '../../functions/domain/migration.ts';
import type { Migration, Pod, ResourceList, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import { ApiError, isNotFound } from '../../functions/kubernetes/errors.ts';
import { MIGRATIONS, PODS, RESOURCE_QUOTAS, VMIS } from '../../functions/kubernetes/resources.ts';
import { Correlator, type Correlated, type NewEvent } from '../cluster/kubevirt/correlator.ts';
import { COMPONENT } from '../cluster/kubevirt/names.ts';
import { RECORDED_EVENTS } from '../cluster/kubevirt/objects.ts';
import type { Client } from './client.ts';
import { timestamp } from './model/metadata.ts';
import type { Change, Store } from './model/store.ts';
import { launcherPod, REJECTED } from './objects.ts';
import type { Random } from './random.ts';
import type { Schedule } from './schedule.ts';

export interface VirtParts {
  readonly store: Store;
  readonly cluster: Client;
  readonly schedule: Schedule;
  readonly random: Random;
  /** What a target pod takes; left out: what its source does. */
  readonly targetTakes?: ResourceList | undefined;
  /** Whether it writes an Event of each refusal. */
  readonly tellsRefusals: boolean;
}

/** The text by which virt-controller itself knows a quota's refusal (facts/kubevirt.md §1.3). */
const EXCEEDED = 'exceeded quota';
/** client-go's item back-off: 5 ms, doubled with each failure, 1000 s at most (facts/kubevirt.md §1.4). */
const BACK_OFF = { firstMs: 5, mostMs: 1_000_000 };
const ONE_AT_A_TIME_MS = 1_000;
/** From the target pod to the end of the migration. */
const MIGRATION_MS = { least: 20, most: 4_000 };

/**
 * virt-controller, as far as quotas can tell: it reads its caches (they are a moment late), creates target pods one at a
 * time, sets the condition when a quota refuses one, looks again at every quota event, and sleeps in its back-off
 * otherwise. With virt-handler and the kubelet: the migration runs, the source pod ends.
 */
export class VirtController {
  /** Migrations of this UID fail instead of succeeding. */
  readonly failing = new Set<string>();
  readonly #parts: VirtParts;
  readonly #queue: string[] = [];
  readonly #failures = new Map<string, number>();
  /** When each migration whose target pod is there is through, milliseconds. */
  readonly #doneAt = new Map<string, number>();
  readonly #correlator = new Correlator();
  /** Events are written in the background, one after the other. */
  #told: Promise<unknown> = Promise.resolve();
  #isAtWork = false;
  #names = 0;

  constructor(parts: VirtParts) {
    this.#parts = parts;
    parts.store.onChange((change) => this.#see(change));
  }

  #see({ type, kind, object }: Change): void {
    const { namespace } = object.metadata;
    if (kind === MIGRATIONS.kind && type !== 'DELETED') this.#later(object.metadata.name, this.#lag());
    if (kind === RESOURCE_QUOTAS.kind && type !== 'ADDED') {
      const all = this.#parts.store.list<Migration>(MIGRATIONS.kind, namespace);
      for (const migration of all.filter(isRejectedByQuota))
        this.#later(migration.metadata.name, this.#lag());
    }
    if (kind === PODS.kind) {
      const uid = object.metadata.labels?.[NAMES.migrationJobUID];
      const all = this.#parts.store.list<Migration>(MIGRATIONS.kind, namespace);
      const migration = uid === undefined ? undefined : all.find(({ metadata }) => metadata.uid === uid);
      if (migration !== undefined) this.#later(migration.metadata.name, this.#lag());
    }
  }

  #lag(): number {
    return this.#parts.random.below(6);
  }

  #later(name: string, ms: number): void {
    this.#parts.schedule.later('virt-controller', ms, () => {
      if (!this.#queue.includes(name)) this.#queue.push(name);
      void this.#work();
    });
  }

  /** One worker. */
  async #work(): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    for (let name = this.#queue.shift(); name !== undefined; name = this.#queue.shift()) {
      try {
        const again = await this.#reconcile(name);
        this.#failures.delete(name);
        if (again !== undefined) this.#later(name, again);
      } catch {
        this.#backOff(name);
      }
    }
    this.#isAtWork = false;
  }

  /** Whatever the error, a 409 of quota admission too: AddRateLimited. It never sleeps longer than it has tried before. */
  #backOff(name: string): void {
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    this.#later(name, Math.min(BACK_OFF.firstMs * 2 ** failures, BACK_OFF.mostMs));
  }

  /** Milliseconds after which to look again; undefined: when something changes. */
  async #reconcile(name: string): Promise<number | undefined> {
    const { store } = this.#parts;
    const migration = store.list<Migration>(MIGRATIONS.kind).find(({ metadata }) => metadata.name === name);
    if (migration === undefined) return undefined;
    if (migration.metadata.deletionTimestamp !== undefined) return this.#end(migration);
    if (isFinal(migration)) return undefined;
    switch (migration.status?.phase) {
      case undefined:
      case '':
        await this.#setStatus(migration, { phase: this.#isSecond(migration) ? 'Failed' : 'Pending' });
        return undefined;
      case 'Pending':
        return this.#pending(migration);
      default:
        return this.#run(migration);
    }
  }

  /** Another migration of the VM is under way (facts/kubevirt.md §1.1). */
  #isSecond({ metadata, spec }: Migration): boolean {
    const all = this.#parts.store.list<Migration>(MIGRATIONS.kind, metadata.namespace);
    return all.some(
      (other) =>
        other.metadata.uid !== metadata.uid && other.spec.vmiName === spec.vmiName && !isFinal(other),
    );
  }

  async #pending(migration: Migration): Promise<number | undefined> {
    const { store, random } = this.#parts;
    const pods = this.#launchers(migration);
    const target = targetPodOf(referenceOf(migration), pods);
    if (target !== undefined) {
      this.#doneAt.set(
        migration.metadata.uid,
        store.now() + random.between(MIGRATION_MS.least, MIGRATION_MS.most),
      );
      await this.#setStatus(migration, { phase: 'Scheduling', conditions: [] });
      return undefined;
    }
    const vmi = this.#vmi(migration);
    const source = sourcePodOf(migration, pods, vmi?.status?.nodeName);
    if (vmi === undefined || source === undefined) return ONE_AT_A_TIME_MS;
    if (pods.filter((pod) => isOfVm(pod, vmi) && !isOver(pod)).length > 1) return ONE_AT_A_TIME_MS;
    const takes = this.#parts.targetTakes ?? amountsOf(source);
    await this.#createTarget(migration, launcherPod(vmi, { migration, takes }));
    return undefined;
  }

  async #createTarget(migration: Migration, { metadata, spec }: Pod): Promise<void> {
    const { namespace = '', labels = {}, ownerReferences = [] } = metadata;
    const generateName = `virt-launcher-${migration.spec.vmiName ?? ''}-`;
    try {
      await this.#parts.cluster.create(PODS, {
        metadata: { generateName, namespace, labels, ownerReferences },
        spec,
      });
    } catch (error) {
      this.#tell(migration, error);
      if (isQuotas(error) && !isRejectedByQuota(migration)) {
        await this.#setStatus(migration, { phase: 'Pending', conditions: [REJECTED] });
      }
      throw error;
    }
  }

  /** An Event on the VMI, as client-go's recorder writes it: in the background, and few of those that are alike. */
  #tell(migration: Migration, error: unknown): void {
    const { tellsRefusals, store } = this.#parts;
    const vmi = this.#vmi(migration);
    if (!tellsRefusals || vmi === undefined || !(error instanceof ApiError)) return;
    this.#names += 1;
    const message = `Error creating pod: ${error.status.message ?? ''}`;
    const event = refusalEvent(vmi, message, { at: timestamp(store.now()), number: this.#names });
    const correlated = this.#correlator.correlate(event, store.now());
    this.#told = this.#told.then(() => this.#record(correlated)).catch(() => undefined);
  }

  async #record(correlated: Correlated): Promise<void> {
    const { cluster } = this.#parts;
    if (correlated.kind === 'drop') return;
    const { metadata, count, message, lastTimestamp } = correlated.event;
    if (correlated.kind === 'create') await cluster.create(RECORDED_EVENTS, correlated.event);
    else await cluster.patch(RECORDED_EVENTS, metadata, { merge: { count, message, lastTimestamp } });
  }

  /** The target pod is there: it starts, the VM moves, the source pod ends. */
  async #run(migration: Migration): Promise<number | undefined> {
    const { store } = this.#parts;
    const pods = this.#launchers(migration);
    const target = targetPodOf(referenceOf(migration), pods);
    const vmi = this.#vmi(migration);
    if (target === undefined || vmi === undefined) {
      await this.#setStatus(migration, { phase: 'Failed' });
      return undefined;
    }
    const left = (this.#doneAt.get(migration.metadata.uid) ?? 0) - store.now();
    if (left > 0) return left;
    if (this.failing.has(migration.metadata.uid) && !isOverThere(vmi, target)) {
      await this.#delete(target);
      await this.#setStatus(migration, { phase: 'Failed' });
      return undefined;
    }
    await this.#move(vmi, target, pods);
    await this.#setStatus(migration, { phase: 'Succeeded' });
    return undefined;
  }

  /** The VM goes over to the target pod, and its source pod ends. */
  async #move(vmi: VirtualMachineInstance, target: Pod, pods: readonly Pod[]): Promise<void> {
    const { cluster } = this.#parts;
    const nodeName = nodeOf(target);
    await this.#setPhase(target, 'Running');
    if (vmi.status?.nodeName !== nodeName) {
      await cluster.replace(VMIS, { ...vmi, status: { ...vmi.status, nodeName } });
    }
    for (const pod of pods) {
      const isSource = isOfVm(pod, vmi) && pod.metadata.uid !== target.metadata.uid;
      if (isSource && !isOver(pod)) await this.#setPhase(pod, 'Succeeded');
    }
  }

  async #setPhase(pod: Pod, phase: string): Promise<void> {
    if (pod.status?.phase === phase) return;
    const status = { ...pod.status, phase };
    await this.#parts.cluster.replace(PODS, { ...pod, status }, { subresource: 'status' });
  }

  /** A migration that is deleted: its target pod goes, it fails, its finalizer goes (facts/kubevirt.md §1.7). */
  async #end(migration: Migration): Promise<undefined> {
    const pods = this.#launchers(migration);
    const target = targetPodOf(referenceOf(migration), pods);
    const vmi = this.#vmi(migration);
    if (target !== undefined && vmi !== undefined && isOverThere(vmi, target)) {
      await this.#move(vmi, target, pods);
    } else if (!isFinal(migration)) {
      if (target !== undefined) await this.#delete(target);
      await this.#setStatus(migration, { ...migration.status, phase: 'Failed' });
      return;
    }
    if (migration.metadata.finalizers === undefined) return;
    const { finalizers: _, ...metadata } = migration.metadata;
    await this.#parts.cluster.replace(MIGRATIONS, { ...migration, metadata });
  }

  async #delete({ metadata: { name, namespace = '' } }: Pod): Promise<void> {
    try {
      await this.#parts.cluster.delete(PODS, { name, namespace }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #setStatus(migration: Migration, status: NonNullable<Migration['status']>): Promise<void> {
    await this.#parts.cluster.replace(MIGRATIONS, { ...migration, status }, { subresource: 'status' });
  }

  #launchers({ metadata }: Migration): Pod[] {
    const pods = this.#parts.store.list<Pod>(PODS.kind, metadata.namespace);
    return pods.filter((pod) => pod.metadata.labels?.[NAMES.launcherLabel] === NAMES.launcher);
  }

  #vmi({
    metadata: { namespace = '' },
    spec: { vmiName = '' },
  }: Migration): VirtualMachineInstance | undefined {
    return this.#parts.store.get<VirtualMachineInstance>({ kind: VMIS.kind, namespace, name: vmiName });
  }
}

function refusalEvent(
  { metadata: { name, namespace = '', uid } }: VirtualMachineInstance,
  message: string,
  { at, number }: { at: string; number: number },
): NewEvent {
  return {
    metadata: { name: `${name}.${String(number)}`, namespace },
    involvedObject: { apiVersion: VMIS.apiVersion, kind: VMIS.kind, namespace, name, uid },
    type: 'Warning',
    reason: NAMES.failedCreate,
    message,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}

const nodeOf = ({ metadata }: Pod): string => `node-of-${metadata.name}`;

/** It is too late to cancel, or to fail. */
const isOverThere = ({ status }: VirtualMachineInstance, target: Pod): boolean =>
  status?.nodeName === nodeOf(target);

const isQuotas = (error: unknown): boolean => error instanceof ApiError && error.message.includes(EXCEEDED);

const isOver = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

const isOfVm = ({ metadata }: Pod, vmi: VirtualMachineInstance): boolean =>
  metadata.labels?.[NAMES.createdBy] === vmi.metadata.uid;

const amountsOf = ({ spec }: Pod): ResourceList => spec.containers[0]?.resources?.requests ?? {};
