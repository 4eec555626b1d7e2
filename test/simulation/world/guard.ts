import { OUR_USERS, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import {
  toResponse,
  type AdmissionRequest,
  type AdmissionResponse,
} from '../../../webhook/admission/admission.ts';
import { newReview } from '../../../webhook/dispatch-review.ts';
import { repair } from '../../../webhook/watchdog/repair.ts';
import type { View } from '../../../functions/domain/view.ts';
import { ClusterWatch } from '../../../webhook/watchdog/cluster-watch.ts';
import { Client } from './client.ts';
import { contextOf, type ProcessParts } from './functions.ts';
import { Life } from '../engine/life.ts';
import type { Random } from '../engine/random.ts';

export interface GuardSettings {
  readonly STALL_SECONDS: number;
  readonly OVERDUE_SECONDS: number;
  readonly SWEEP_SECONDS: number;
}

export interface GuardParts extends ProcessParts {
  readonly guard: GuardSettings;
  readonly random: Random;
}

const KUBEVIRT = {
  KUBEVIRT_NAMESPACE: 'kubevirt',
  KUBEVIRT_CONTROLLER: 'kubevirt-controller',
} as const;

/** The webhooks' timeoutSeconds, and the guard's own time limit (webhook/admission/review-app.ts). */
const REVIEW_MS = 2_500;
const MAX_AWAY_MS = 25_000;
const USER = userOf(SERVICE_ACCOUNT.guard);

/** One replica of the guard: admission reviews, watchdog and resync. It restarts some time after it died. */
export class Guard {
  /** Start time; undefined: it does not run. */
  since: number | undefined;
  readonly #parts: GuardParts;
  readonly #name: string;
  readonly #over = new AbortController();
  #life = new Life();
  #watch: ClusterWatch | undefined;
  #starts = 0;

  constructor(name: string, parts: GuardParts) {
    this.#name = name;
    this.#parts = parts;
  }

  start(): void {
    if (this.since !== undefined) return;
    const { network, guard, random } = this.#parts;
    const { schedule, trace } = network;
    this.#starts += 1;
    this.since = schedule.time.now;
    const life = new Life();
    this.#life = life;
    const actor = `${this.#name}.${String(this.#starts)}`;
    trace.log(actor, () => 'starts');
    life.onEnd(() => this.#onEnd(actor));
    const context = contextOf(this.#parts, { actor, site: 'guard', user: USER, life });
    const { cluster, clock, log, post } = context;
    const tracedRepair = (namespace: string, token: string | undefined): Promise<unknown> => {
      trace.log(actor, () => `repairs ${namespace} ${token ?? '(no token)'}`);
      return repair(namespace, token, context);
    };
    this.#watch = new ClusterWatch({
      ...{ cluster, clock, log, post, repair: tracedRepair, random: () => random.next() },
      settings: { ...guard, ...KUBEVIRT },
      silentFunctions: () => Promise.resolve(this.#parts.silentFunctions(actor)),
    });
    void this.#watch.run(this.#over.signal);
  }

  /** Its answer at /view; undefined: it gives none now. */
  viewOf(namespace: string): View | undefined {
    return this.since === undefined ? undefined : this.#watch?.viewOf(namespace);
  }

  /** The run is over: without it Node keeps the watches, and the whole world with them. */
  stop(): void {
    this.#over.abort();
  }

  kill(): void {
    this.#life.end();
  }

  /** A call of the API server; undefined: no answer. */
  review(request: AdmissionRequest): Promise<AdmissionResponse> {
    const { network } = this.#parts;
    const life = this.#life;
    const watch = this.#watch;
    if (this.since === undefined || watch === undefined)
      return Promise.reject(new Error('the guard cannot be reached'));
    const actor = `${this.#name}.${String(this.#starts)} review`;
    // No faults here: the faults of the API server's site already hit this GET.
    const cluster = new Client({ actor, site: 'review', user: USER, life }, network);
    return new Promise((resolve, reject) => {
      life.onEnd(() => reject(new Error('the guard died')));
      const answer = (response: AdmissionResponse): void => {
        network.trace.log(
          actor,
          () =>
            `${request.operation} ${request.resource.resource} ${request.name ?? ''} by ${shortName(request.userInfo.username)}: ${response.allowed ? 'allowed' : 'refused'}`,
        );
        resolve(response);
      };
      network.schedule.time.after(REVIEW_MS, () => answer(unavailable(request)));
      newReview(cluster, KUBEVIRT, (namespace) => watch.incumbentFor(namespace))(request).then(
        (decision) => answer(toResponse(request.uid, decision)),
        () => answer(unavailable(request)),
      );
    });
  }

  #onEnd(actor: string): void {
    const { network, random } = this.#parts;
    network.trace.log(actor, () => 'died');
    this.since = undefined;
    network.schedule.time.after(random.below(MAX_AWAY_MS), () => this.start());
  }
}

const unavailable = ({ uid }: AdmissionRequest): AdmissionResponse => ({
  uid,
  allowed: false,
  status: { code: 503, reason: 'ServiceUnavailable', message: 'the guard could not decide' },
});

const shortName = (user: string): string => user.split(':').at(-1) ?? user;

/** Whether this user is the account of one of the project's processes. */
export const isOurs = (user: string): boolean => OUR_USERS.includes(user);
