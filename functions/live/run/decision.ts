import type { KubernetesObject } from '../../domain/objects.ts';
import type { LiveReason } from '../../domain/live/names.ts';

/** Which API server: of the Plan, of the cluster that the VM leaves, or of the one that it moves to. */
export type Side = 'hub' | 'source' | 'target';

/** An object to be created: the server adds the rest of its metadata. */
export type NewObject<T extends KubernetesObject = KubernetesObject> = Omit<T, 'metadata'> & {
  metadata: Partial<T['metadata']> & { name: string; namespace?: string };
};

/** One request. Each can be repeated: a second one finds the first, or fails its precondition. */
export type LiveWrite =
  /** AlreadyExists: the next reading decides whether the object is this run's. */
  | { readonly verb: 'create'; readonly on: Side; readonly object: NewObject }
  /** PUT of an object as it was read, with its resourceVersion. */
  | {
      readonly verb: 'replace';
      readonly on: Side;
      readonly object: KubernetesObject;
      readonly subresource?: 'status';
      /** What follows it goes on where it is refused. */
      readonly isOptional?: true;
    }
  /** Of exactly this object, and where `asRead` of exactly this version. */
  | {
      readonly verb: 'delete';
      readonly on: Side;
      readonly object: KubernetesObject;
      readonly asRead?: true;
    };

/** What a step does next. `message` says what is waited for, or what to do. */
export type StepDecision =
  | { readonly kind: 'done' }
  | Wait
  | { readonly kind: 'write'; readonly writes: readonly LiveWrite[]; readonly message: string }
  | Fail;

export interface Wait {
  readonly kind: 'wait';
  readonly reason: LiveReason;
  readonly message: string;
}

/** The run ends for this VM. Before the cut-over everything is undone; after it the VM stays on the target. */
export interface Fail {
  readonly kind: 'fail';
  readonly reason: LiveReason;
  readonly message: string;
}

export const DONE: StepDecision = { kind: 'done' };

export const wait = (reason: LiveReason, message: string): Wait => ({ kind: 'wait', reason, message });

export const fail = (reason: LiveReason, message: string): Fail => ({ kind: 'fail', reason, message });

export const write = (message: string, ...writes: readonly LiveWrite[]): StepDecision => ({
  kind: 'write',
  writes,
  message,
});

export interface Deadline {
  /** Both in milliseconds, by the same API server's clock. */
  readonly now: number;
  readonly until: number;
}

/** Waits, and fails with the same message once it is too late. */
export const waitUntil = (
  { now, until }: Deadline,
  waiting: Pick<Wait, 'reason' | 'message'>,
  late: LiveReason,
): StepDecision =>
  now < until
    ? { kind: 'wait', ...waiting }
    : { kind: 'fail', reason: late, message: `too late: ${waiting.message}` };
