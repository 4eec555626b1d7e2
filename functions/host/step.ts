import type { Clock } from '../runtime/clock.ts';
import { MAX_ACQUIRED_SECONDS } from '../domain/verdict/attempt.ts';
import type { OurEvent } from '../domain/events.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { EventType, Reason } from '../domain/names.ts';
import type { Rules } from '../domain/snapshot.ts';
import type { View } from '../domain/view.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { Log } from '../runtime/log.ts';
import type { Settings, StepName } from '../runtime/settings.ts';
import type { Exclusively } from './exclusive.ts';

/** Everything a step may use. No state: each event starts from the API server. */
export interface StepContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly settings: Pick<
    Settings,
    'KUBECONFIG' | 'KUBEVIRT_NAMESPACE' | 'LOCK_SECONDS' | 'STALL_SECONDS' | 'SETTLE_MS' | 'WAKE_URLS'
  >;
  readonly log: Log;
  readonly newToken: () => string;
  /** Sends a fresh event to the Broker (a reply would carry on the TTL of what woke us). */
  readonly post: (event: OurEvent) => Promise<void>;
  /** Resolves when the later steps answer, or when it is no use waiting longer. */
  readonly prewarmNextSteps: () => Promise<void>;
  /** The cluster as the guard sees it, for a namespace; undefined: it did not answer within half a second. Never rejects. */
  readonly view: (namespace: string) => Promise<View | undefined>;
  /** Milliseconds since this process was first asked about it, as far as it remembers; 0: now. A courtesy, never a state. */
  readonly sinceFirst: (what: string) => number;
  /** Runs `work` unless this process is running other work under the same key: then `otherwise`, at once. */
  readonly exclusively: Exclusively;
  /** Work that nobody waits for: reports. Finished before the process ends. */
  readonly inBackground: (work: () => Promise<void>) => void;
}

/** How a step ended: the next step's event, or nothing more to say; always with a reason. */
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
  /** What wakes it, as its Triggers filter. */
  readonly triggers: readonly StepTrigger[];
  /** Where the event itself shows that there is nothing to do (docs/adr/0015): nothing is read, nobody is waited for. */
  readonly skipOutcome?: (request: StepRequest) => Outcome | undefined;
  /** Within a process one run for a namespace at a time (keyed-serializer.ts); not where a run may wait for long. */
  readonly isSerialized?: boolean;
  /** What it replies with. */
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

/** The part of the settings that verdicts are made with. */
export const rulesOf = (settings: StepContext['settings']): Rules => ({
  kubevirtNamespace: settings.KUBEVIRT_NAMESPACE,
  lockSeconds: Math.min(settings.LOCK_SECONDS, MAX_ACQUIRED_SECONDS),
});
