import type { Backoff } from './attempt.ts';
import type { LockedMigration, BlockedMigration } from '../lock.ts';
import type { Pod, Vmmrq } from '../objects.ts';
import type { Amount } from '../quantity.ts';
import type { Blocking } from '../quota/charged.ts';
import type { Reserved } from '../quota/headroom.ts';
import type { MissingPod, Sized } from '../sizing/missing-pod.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

/** State of an evaluation in order of precedence: what the earlier migrations leave. */
export interface Allocation {
  readonly snapshot: NamespaceSnapshot;
  readonly backoff: Backoff | undefined;
  /** Other migrations are under way: their second pod is charged until they are through. */
  readonly headroomReturns: boolean;
  /** Launchers that are charged, and that no migration returns (leftOverLaunchers). */
  readonly leftOver: readonly Pod[];
  /** What the earlier migrations need of each quota, by quota uid and canonical key. */
  readonly reserved: Map<string, Map<string, Amount>>;
  /** The same, for those that need a raise. */
  readonly raisedFor: Map<string, Map<string, Amount>>;
  /** The earlier migrations that get through now, with the nodes that they leave, and of them those that need a raise. */
  readonly accepted: (BlockedMigration & { readonly node: string | undefined })[];
  readonly raising: (RaiseCandidate & Pick<Lack, 'blocking'>)[];
  /** See `assess`. */
  readonly onEvaluate: (evaluated: Evaluated) => void;
  /** The nodes that Pending migrations with a target leave; '': none, undefined: not known. The view does not count these migrations. */
  readonly leftByPending: readonly (string | undefined)[];
}

/** A migration as a lock would name it, and the VMMRQs that give to it. */
export interface RaiseCandidate {
  readonly locked: LockedMigration;
  readonly givers: readonly Vmmrq[];
}

/** A blocked migration as it is evaluated: the pod that it lacks, the VMMRQs that give to it, and what the earlier ones take. */
export interface Evaluated extends MissingPod, RaiseCandidate {
  /** What the earlier migrations take; changes when the next migration is evaluated. */
  readonly reserved: Reserved;
}

/** What the pod needs, and what it lacks of which quotas. */
export interface Lack {
  readonly size: Sized;
  readonly blocking: readonly Blocking[];
}
