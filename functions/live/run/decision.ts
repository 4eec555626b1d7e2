import { shown } from '../../domain/foreign-text.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { LiveReason } from '../../domain/live/names.ts';

/** The API server of the Plan (`hub`), of the cluster that the VM leaves, or of the one that it moves to. */
export type Side = 'hub' | 'source' | 'target';

/** An object to be created: the server adds the rest of its metadata. */
export type NewObject<T extends KubernetesObject = KubernetesObject> = Omit<T, 'metadata'> & {
  metadata: Partial<T['metadata']> & { name: string; namespace?: string };
};

/** A request that can be repeated: a second one finds the first, or fails its precondition. */
export type LiveWrite =
  /** Create. After AlreadyExists the next reading decides whether the object is this run's. */
  | {
      readonly verb: 'create';
      readonly on: Side;
      readonly object: NewObject;
      /** Whether the writes after it go on if this one is refused. */
      readonly isOptional?: true;
    }
  /** PUT of an object as it was read, with its resourceVersion. */
  | {
      readonly verb: 'replace';
      readonly on: Side;
      readonly object: KubernetesObject;
      readonly subresource?: 'status';
      /** Whether the writes after it go on if this one is refused. */
      readonly isOptional?: true;
    }
  /** Delete of exactly this object, and if `asRead` of exactly this version. */
  | {
      readonly verb: 'delete';
      readonly on: Side;
      readonly object: KubernetesObject;
      readonly asRead?: true;
    };

/** The next action of a step. `message`: what it writes, what it waits for, or what a user has to do. */
export type StepDecision =
  | { readonly kind: 'done' }
  | Wait
  | { readonly kind: 'write'; readonly writes: readonly LiveWrite[]; readonly message: string }
  | Fail;

export interface Wait {
  readonly kind: 'wait';
  readonly reason: LiveReason;
  readonly message: string;
  /** The wait usually ends by itself, also where its reason is one that needs a user. */
  readonly endsItself?: boolean;
}

/** The run ends for this VM. Before the cut-over everything is undone; after it the VM stays on the target. */
export interface Fail {
  readonly kind: 'fail';
  readonly reason: LiveReason;
  readonly message: string;
}

/** The next action of a VM's run. */
export type RunDecision =
  | {
      readonly kind: 'write';
      readonly step: string;
      readonly writes: readonly LiveWrite[];
      readonly message: string;
    }
  | (Wait & { readonly step: string })
  | Ended;

/** The end. The run does nothing more but remove the record, once the end is in the status of the Migration. */
export interface Ended {
  readonly kind: 'ended';
  readonly as: 'Succeeded' | 'Failed' | 'Canceled';
  readonly reason: LiveReason;
  readonly message: string;
  /** Objects that the run made and could not delete, or must not; the finalizers of the run stay until there are none. */
  readonly leftovers: readonly string[];
  /** Writes that remove the record from the source VM. */
  readonly recordRemoval: readonly LiveWrite[];
}

export const DONE: StepDecision = { kind: 'done' };

/** A message may name objects of the other cluster, whose API server may answer any name. */
export const wait = (reason: LiveReason, message: string): Wait => ({
  kind: 'wait',
  reason,
  message: shown(message),
});

export const fail = (reason: LiveReason, message: string): Fail => ({
  kind: 'fail',
  reason,
  message: shown(message),
});

export const write = (message: string, ...writes: readonly LiveWrite[]): StepDecision => ({
  kind: 'write',
  writes,
  message: shown(message),
});

export interface Deadline {
  /** The present time and the limit in milliseconds, both by the same API server's clock. */
  readonly now: number;
  readonly until: number;
}

/** Waits until the deadline, then fails with the same message. */
export const waitUntil = (
  { now, until }: Deadline,
  { reason, message, ...rest }: Omit<Wait, 'kind'>,
  late: LiveReason,
): StepDecision => (now < until ? { ...wait(reason, message), ...rest } : fail(late, `too late: ${message}`));
