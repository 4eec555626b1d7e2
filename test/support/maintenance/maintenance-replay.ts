import type { Migration, VirtualMachineInstance, KubeVirt } from '../../../functions/domain/objects.ts';
import { isFinal } from '../../../functions/domain/migration.ts';
import { KUBEVIRT, REASON } from '../../../functions/domain/names.ts';
import type { MaintenanceProgress, Subject } from '../../../functions/domain/progress/progress-object.ts';
import { decide, decideFor } from '../../../functions/progress/decide.ts';
import { observe, vmOf } from '../../../webhook/maintenance/observe.ts';

/** A line of test/recorded/drain-evacuation.jsonl and upgrade-workload-update.jsonl. */
export interface RecordedLine {
  readonly seconds: number;
  readonly kind?: string;
  readonly watch?: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object?: { readonly metadata: { readonly namespace?: string; readonly name: string } };
}

/** The guard's memory and the stored objects, without any process: each line is looked at, and what is to be written is written. */
export class MaintenanceReplay {
  /** The type of each event, without its prefix, and the name of its object. */
  readonly events: string[] = [];
  readonly progresses = new Map<string, MaintenanceProgress>();
  isSettled = false;
  readonly #vmis = new Map<string, VirtualMachineInstance>();
  readonly #migrations = new Map<string, Migration>();
  readonly #ended = new Map<string, Migration>();
  kubevirt: KubeVirt | undefined;
  readonly #start: number;

  /** `start`: milliseconds of the recording's second 0. */
  constructor(start: number) {
    this.#start = start;
  }

  apply({ kind, watch, object }: RecordedLine): void {
    if (object === undefined) return;
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    if (kind === 'KubeVirt') this.kubevirt = object as KubeVirt;
    if (kind === 'VirtualMachineInstance') put(this.#vmis, { key, watch }, object as VirtualMachineInstance);
    if (kind === 'VirtualMachineInstanceMigration') {
      const migration = object as Migration;
      put(this.#migrations, { key, watch: isFinal(migration) ? 'DELETED' : watch }, migration);
      put(this.#ended, { key, watch: isFinal(migration) ? watch : 'DELETED' }, migration);
    }
  }

  /** The guard looks at a subject, and `progress` writes what is due. */
  look(subject: Subject, seconds: number): void {
    const now = this.#start + seconds * 1_000;
    const migrations = new Map(
      [...this.#migrations.values()].map((migration) => [
        vmOf(migration.metadata.namespace ?? '', migration.spec.vmiName ?? ''),
        migration,
      ]),
    );
    const vmis = subject.kind === 'Drain' ? [...this.#vmis.values()] : [];
    const seen = observe(subject, {
      kubevirt: this.kubevirt,
      node:
        subject.kind === 'Drain'
          ? ({
              metadata: { name: subject.node, uid: `uid-of-${subject.node}` },
              spec: { unschedulable: true },
            } as never)
          : undefined,
      vmis,
      arriving: vmis.filter(({ metadata }) => metadata.labels?.[KUBEVIRT.migrationTarget] === subject.node),
      migrations,
      moves: [...this.#ended.values()],
      progresses: [...this.progresses.values()],
      isFull: false,
      more: () => ({ isQueued: false, isLocked: false, verdict: { reason: REASON.noVmmrq } }),
      isSettled: this.isSettled,
      label:
        subject.kind === 'Drain'
          ? `drain-${subject.node}`
          : `upgrade-${this.kubevirt?.status?.targetDeploymentID ?? ''}`,
      now,
    });
    const decision = decide(seen, now);
    if (decision.kind === 'write') this.#store(decision.object);
    if (decision.kind !== 'open') return;
    const { name, spec } = decision.opening;
    const metadata = {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      creationTimestamp: new Date(now).toISOString(),
    };
    const begun = decideFor({ metadata, spec }, seen, now);
    if (begun.kind === 'write') this.#store(begun.object);
  }

  #store(object: MaintenanceProgress): void {
    const { status } = object;
    for (const { type, sequence } of status?.outbox ?? [])
      this.events.push(`${object.spec.subject} ${String(sequence)} ${type.replace(/^.*mtq\.\w+\./, '')}`);
    this.progresses.set(
      object.metadata.name,
      status === undefined ? object : { ...object, status: { ...status, outbox: [] } },
    );
  }
}

function put<T>(
  map: Map<string, T>,
  { key, watch }: { readonly key: string; readonly watch: RecordedLine['watch'] },
  object: T,
): void {
  if (watch === 'DELETED') map.delete(key);
  else map.set(key, object);
}
