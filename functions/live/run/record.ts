import { parseJson, shortList } from '../../domain/bounded.ts';
import { LIVE_ANNOTATION, MARK, type Mark } from '../../domain/live/names.ts';
import type { RunStrategy, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { RunId } from './names.ts';
import * as z from '../../runtime/zod.ts';

const VERSION = 1;
/** The VMI of a record that was made again: the one that was to move is not known any more. */
export const LOST_VMI = 'lost';
/** The strategy that a VM must not have while it moves, and the one that it has meanwhile (hold.ts). */
export const HELD = { from: 'RerunOnFailure', to: 'Manual' } as const;
const text = z.string().check(z.minLength(1));
const time = z.iso.datetime({ offset: true });

/** Run strategies of a VM that runs; `running` is `spec.running: true`, which means Always. */
export const STRATEGIES = ['Always', 'RerunOnFailure', 'Manual', 'Once', 'running'] as const;

const recordSchema = z.object({
  v: z.literal(VERSION),
  migration: z.object({ namespace: text, name: text, uid: text }),
  /** The cluster of the Migration, by the uid of its namespace kube-system. */
  hub: text,
  /** The VM, and the VMI that moves. A record that was copied to another VM does not count. */
  vm: text,
  vmi: text,
  /** The migration that the VMI had before the run (cut-over.ts). */
  before: z.optional(text),
  runStrategy: z.enum(STRATEGIES),
  target: z.object({ cluster: text, namespace: text, name: text }),
  startedAt: time,
  /** The limit of its transfer, in seconds. */
  transferSeconds: z.number().check(z.positive()),
  /** The number of pairs of VMIMs; 0: there was none yet, so KubeVirt cannot have moved the guest. */
  attempt: z.int().check(z.nonnegative()),
  /** The VM on the target of the first pair. Another one of its name, which a delayed call has made, proves nothing. */
  receiver: z.optional(text),
  /** The VMI of that VM: another one proves nothing about the launchers of this one. */
  receiverVmi: z.optional(text),
  /** The attempt was withdrawn: its VMIMs are deleted, and another one follows. */
  withdrawn: z.optional(z.literal(true)),
  /** The VM's labels and spec as the run began (edits.ts). */
  fingerprint: z.optional(text),
  /** A migration within the target was tried (local-migration.ts). */
  local: z.optional(z.literal(true)),
  /** Hooks that have succeeded. */
  hooks: z.array(z.enum(['PreHook', 'PostHook'])).check(z.maxLength(2)),
  /** Marks of the cut-over, each with the time when it was seen first. They are never removed. */
  marks: shortList(z.object({ mark: z.enum(Object.values(MARK)), at: time })),
  /** The run has changed the strategy of the VM (HELD), which gets its own back when the record goes before the cut-over. */
  held: z.optional(z.literal(true)),
  /** The strategy that an owner has given the VM while it moved, which its copy does not have (edits.ts). */
  changedTo: z.optional(z.enum(STRATEGIES)),
  /** The guest has arrived: the source's disks are out of date for good. */
  arrivedAt: z.optional(time),
  /** The run has halted the source VM; if it is not Halted later, an owner has undone that. */
  halted: z.optional(z.literal(true)),
  /** The VM was started again: when that was seen last, by the clock of the source, and by which field manager if that is known. */
  undone: z.optional(z.object({ at: time, by: z.optional(text) })),
  /** The end of the run for this VM; the run goes back from there unless the VM is past its cut-over. */
  end: z.optional(
    z.object({
      as: z.enum(['Failed', 'Canceled']),
      reason: text,
      message: z.string(),
      at: time,
      /** The proof that the guest is not on the target, and cannot get there any more: the objects there may be deleted. */
      proved: z.optional(z.literal(true)),
    }),
  ),
});

/**
 * The state of a run that it must remember of a VM, in an annotation of the VM on the source. It is written before anything else, and is
 * the lock too: a VM with a record belongs to that run. Everything else is derived from the objects.
 */
export type RunRecord = z.infer<typeof recordSchema>;
export type RunEnd = NonNullable<RunRecord['end']>;

export type RecordState =
  | { readonly kind: 'none' }
  /** The record of this run. */
  | { readonly kind: 'ours'; readonly record: RunRecord }
  /** A record of another run, or undefined if it cannot be read: nothing of the VM may be changed. */
  | { readonly kind: 'foreign'; readonly record: RunRecord | undefined };

/** Returns the record on the VM as it is stored; undefined if there is none. */
export const recordText = ({ metadata }: VirtualMachine): string | undefined =>
  metadata.annotations?.[LIVE_ANNOTATION.run];

/** The record on the VM, as seen by a run. */
export function recordOf(vm: VirtualMachine, run: RunId): RecordState {
  const content = recordText(vm);
  if (content === undefined) return { kind: 'none' };
  const parsed = recordSchema.safeParse(parseJson(content));
  if (!parsed.success) return { kind: 'foreign', record: undefined };
  const { data: record } = parsed;
  if (record.vm !== vm.metadata.uid) return { kind: 'none' };
  return record.migration.uid === run.migration ? { kind: 'ours', record } : { kind: 'foreign', record };
}

/** Returns the state of the VM's record as one sees it who is no run; undefined if there is none. */
export function foreignRecordOf(
  vm: VirtualMachine,
): (RecordState & { readonly kind: 'foreign' }) | undefined {
  const state = recordOf(vm, { plan: '', migration: '', vm: vm.metadata.uid });
  return state.kind === 'foreign' ? state : undefined;
}

/** Returns the record of this run on the VM; undefined if there is none. */
export function recordIn({ source, run }: SourceOfRun): RunRecord | undefined {
  const state = source.vm === undefined ? undefined : recordOf(source.vm, run);
  return state?.kind === 'ours' ? state.record : undefined;
}

interface SourceOfRun {
  readonly source: { readonly vm: VirtualMachine | undefined };
  readonly run: RunId;
}

/** Returns the VM with the record. */
export const withRecord = (vm: VirtualMachine, record: RunRecord): VirtualMachine => ({
  ...vm,
  metadata: {
    ...vm.metadata,
    annotations: { ...vm.metadata.annotations, [LIVE_ANNOTATION.run]: JSON.stringify(record) },
  },
});

/**
 * Returns the VM without a record: free for another run, and with its own strategy. A VM whose strategy stays held keeps the one that it has.
 */
export function withoutRecord(vm: VirtualMachine, vmi: Vmi | undefined): VirtualMachine {
  const { [LIVE_ANNOTATION.run]: content = '', ...annotations } = vm.metadata.annotations ?? {};
  const { data: record } = recordSchema.safeParse(parseJson(content));
  const isFreed = record !== undefined && isHeld(vm, record) && !staysHeld({ vm, vmi }, record);
  const { spec } = isFreed ? withStrategy(vm, HELD.from) : vm;
  return { ...vm, metadata: { ...vm.metadata, annotations }, spec };
}

/**
 * Whether a VM that the run has set to another strategy keeps it. Past the cut-over KubeVirt would start it from disks that may be out of
 * date, and to halt it could end the only copy. A VM that was stopped meanwhile has no VMI: KubeVirt would start it, because it comes from
 * a different strategy (vm.go, syncRunStrategy).
 */
export const staysHeld = (
  { vm, vmi }: { readonly vm: VirtualMachine; readonly vmi: Vmi | undefined },
  record: RunRecord,
): boolean => isHeld(vm, record) && (vmi === undefined || isPastCutOver(record));

/** Whether the VM has the strategy that the run has given it. */
export const isHeld = ({ spec }: VirtualMachine, { held }: Pick<RunRecord, 'held'>): boolean =>
  held === true && spec.runStrategy === HELD.to;

/**
 * Returns the record with the marks that are seen, or with the arrival; undefined if it has them already. One mark is enough, so later ones
 * are not added. `at`: RFC 3339.
 */
export function withMarks(
  record: RunRecord,
  { marks, hasArrived }: { readonly marks: readonly Mark[]; readonly hasArrived: boolean },
  at: string,
): RunRecord | undefined {
  const isMarked = marks.length > 0 && record.marks.length === 0;
  const isArrived = hasArrived && record.arrivedAt === undefined;
  if (!isMarked && !isArrived) return undefined;
  return {
    ...record,
    ...(isMarked ? { marks: marks.map((mark) => ({ mark, at })) } : {}),
    ...(isArrived ? { arrivedAt: at } : {}),
  };
}

/**
 * Returns the record with the strategy that an owner has given the VM since the run began, which is lost with the halt; undefined if the
 * record has it already. The run's own hold is none.
 */
export function withOwnersStrategy(vm: VirtualMachine, record: RunRecord): RunRecord | undefined {
  const { changedTo, ...rest } = record;
  const now = strategyOf(vm);
  if (now === undefined || isHeld(vm, record) || isSameStrategy(now, changedTo ?? record.runStrategy))
    return undefined;
  return isSameStrategy(now, record.runStrategy) ? rest : { ...rest, changedTo: now };
}

/** Whether KubeVirt does the same by both: `running` means Always. */
const isSameStrategy = (one: RunRecord['runStrategy'], other: RunRecord['runStrategy']): boolean =>
  restoredStrategyOf({ runStrategy: one }) === restoredStrategyOf({ runStrategy: other });

/** Whether the guest may run on the target. From then on the VM there is never deleted. */
export const isPastCutOver = ({ marks, arrivedAt }: RunRecord): boolean =>
  marks.length > 0 || arrivedAt !== undefined;

/** Returns the run strategy as the record has it; undefined for a VM that is stopped, or waits for a guest itself. */
export function strategyOf({ spec }: VirtualMachine): RunRecord['runStrategy'] | undefined {
  if (spec.running === true) return 'running';
  return strategyNamed(spec.runStrategy);
}

export const strategyNamed = (name: string | undefined): RunRecord['runStrategy'] | undefined =>
  STRATEGIES.find((strategy) => strategy === name);

/** Returns the VM with this strategy, in the field that had the old one. */
export function withStrategy(
  vm: VirtualMachine,
  strategy: RunRecord['runStrategy'] | 'Halted',
): VirtualMachine {
  const { running: _running, runStrategy: _runStrategy, ...spec } = vm.spec;
  const how = strategy === 'running' ? { running: true } : { runStrategy: strategy };
  return { ...vm, spec: { ...spec, ...how } };
}

/** Returns the strategy that KubeVirt gives the VM on the target when its guest has arrived. */
export const restoredStrategyOf = ({ runStrategy }: Pick<RunRecord, 'runStrategy'>): RunStrategy =>
  runStrategy === 'running' ? 'Always' : runStrategy;
