import type { Clock } from '../runtime/clock.ts';
import { MAX_ACQUIRED_SECONDS } from '../domain/verdict/attempt.ts';
import type { OurEvent } from '../domain/events.ts';
import type { PostedEvent } from '../eventing/posted-event.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { EventType, Reason } from '../domain/names.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type { Subject } from '../domain/progress/progress-object.ts';
import type { Rules } from '../domain/snapshot.ts';
import type { View } from '../domain/view.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { Log } from '../runtime/log.ts';
import type { Settings, StepName } from '../runtime/settings.ts';
import type { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import type { Exclusively } from './exclusive.ts';
import type { FirstTimes } from './first-times.ts';

/** Everything a step may use. It holds no state: each event starts with a read of the API server. */
export interface StepContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly settings: Pick<
    Settings,
    'KUBECONFIG' | 'KUBEVIRT_NAMESPACE' | 'LOCK_SECONDS' | 'STALL_SECONDS' | 'SETTLE_MS'
  >;
  readonly log: Log;
  readonly newToken: () => string;
  /** Posts a new event to the Broker. A reply would keep the TTL of the event that it answers. */
  readonly post: (event: PostedEvent) => Promise<void>;
  /** Readiness URLs of the later steps' functions that do not answer; the requests start them. Never rejects. */
  readonly silentSteps: () => Promise<readonly string[]>;
  /** The guard's view of the cluster for a namespace; undefined: no answer within half a second. Never rejects. */
  readonly view: (namespace: string) => Promise<View | undefined>;
  /** The guard's view of a drain or the upgrade; undefined: no answer in time. Never rejects. */
  readonly maintenance: (subject: Subject) => Promise<Maintenance | undefined>;
  /** Milliseconds since this process was first asked about the key, as far as it remembers; 0: now. A courtesy, never a state. */
  readonly sinceFirst: FirstTimes['sinceFirst'];
  readonly sinceAsked: FirstTimes['sinceAsked'];
  /** Runs `work`, or returns `otherwise` at once while this process runs other work under the same key. */
  readonly exclusively: Exclusively;
  /** Serializes looks at a namespace. */
  readonly looks: Pick<KeyedSerializer, 'serialize'>;
  /** Background work, such as reports. It finishes before the process ends. */
  readonly inBackground: (work: () => Promise<void>) => void;
}

/** Thrown by a step that can do nothing yet: the Broker delivers the event again. */
export class NotYet extends Error {
  override readonly name = 'NotYet';
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The result of a step: the next step's event or none, always with a reason. */
export interface Outcome {
  readonly reply?: OurEvent;
  readonly reason: Reason;
  readonly message: string;
  readonly token?: string;
  /** Names of the migrations it is about. */
  readonly migrations?: readonly string[];
}

export interface Step {
  readonly name: StepName;
  /** The events that run it, as its Triggers filter. */
  readonly triggers: readonly StepTrigger[];
  /**
   * The outcome where the event alone shows that there is nothing to do (docs/adr/0015). The step then reads nothing and waits
   * for no other run.
   */
  readonly skipOutcome?: (request: StepRequest) => Outcome | undefined;
  /** Limits a process to one run per namespace (keyed-serializer.ts). Not for a step whose runs may wait for long. */
  readonly isSerialized?: boolean;
  /** The types of its replies. */
  readonly replies: readonly EventType[];
  readonly handle: (request: StepRequest, context: StepContext) => Promise<Outcome>;
}

/** An event type, and for the source's events the kind of object. */
export interface StepTrigger {
  readonly type: string;
  readonly kind?: string;
  /** The event's own `source`; left out: any. */
  readonly source?: string;
}

/** The settings that verdicts depend on. */
export const rulesOf = (settings: StepContext['settings']): Rules => ({
  kubevirtNamespace: settings.KUBEVIRT_NAMESPACE,
  lockSeconds: Math.min(settings.LOCK_SECONDS, MAX_ACQUIRED_SECONDS),
});
