import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import { SYSTEM_NAMESPACE, WEBHOOK } from '../../functions/domain/names.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import type { Log } from '../../functions/runtime/log.ts';
import {
  ensureCaBundle,
  fingerprintsOf,
  LIVE_WEBHOOKS,
  MissingWebhooks,
  trustedAt,
  type Fingerprints,
  type Trust,
} from './ca-bundle.ts';
import {
  CERTIFICATES_SECRET,
  ensureCertificate,
  isYoung,
  type Lifetimes,
  type ServingCertificate,
} from './certificates.ts';
import { needsRenewal, servingProblem } from './renewal.ts';
import {
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from './resources.ts';
import { doubling } from '../../functions/runtime/timers.ts';
import type { KeyPair } from '../../functions/server/serve.ts';
import { LastingProblem } from '../../functions/runtime/lasting-problem.ts';

export interface RotationSettings extends Lifetimes {
  /** Milliseconds that a new authority must be in the webhooks' bundle before its certificate serves. */
  readonly CA_LEAD_MS: number;
  /** Whether there is a webhook for live migrations between clusters; `off` by default. */
  readonly LIVE_MIGRATION?: 'off' | 'on' | 'loopback';
}

export interface RotationOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  /** Sets the certificate for new connections. */
  readonly serve: (certificate: KeyPair) => void;
  /** Gets each version of our ValidatingWebhookConfiguration that the rotation reads. */
  readonly onConfiguration?: (configuration: ValidatingWebhookConfiguration) => void;
  /** The clock; its `now` counts for issuing and checking certificates. */
  readonly clock?: Clock;
}

const MAX_INTERVAL_MS = 60_000;
const MAX_RETRY_MS = 10_000;
/** Limits the rate of writes when another writer undoes each change of the bundle. */
const MIN_PAUSE_MS = 50;

/**
 * Keeps the API server able to call this replica across certificate rotations. The Secret holds the certificate for all replicas.
 * A replica serves its previous certificate until the new authority has been in the bundle for CA_LEAD_MS, so that every API server
 * knows it. So the replicas need no agreed moment. A late replica remains trusted, because an authority stays in the bundle while a
 * replica may serve its certificates.
 *
 * The loop runs again at once after each change of the Secret or the bundle, and when a renewal is due, which it finds out every minute
 * without a request. With live migration it runs every minute.
 */
export class Rotation {
  readonly #settings: RotationSettings;
  readonly #options: RotationOptions;
  readonly #clock: Clock;
  #serving: ServingCertificate | undefined;
  /** The times at which this replica first saw each authority in the bundle (the clock's elapsed), by fingerprint. */
  readonly #trustedSince = new Map<string, number>();
  /** The certificate in the Secret. */
  #next: ServingCertificate | undefined;
  /** The time at which every API server knows our authority (the clock's elapsed); undefined: the bundle has not been read yet. */
  #knownAt: number | undefined;
  readonly #failure: LastingProblem;
  readonly #liveFailure: LastingProblem;
  #resume: () => void = () => undefined;

  constructor(settings: RotationSettings, options: RotationOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#failure = new LastingProblem(options.log, this.#clock);
    this.#liveFailure = new LastingProblem(options.log, this.#clock);
  }

  /** The reason why the API server cannot call this replica now; undefined: it can. */
  problem(): string | undefined {
    const serving = this.#serving;
    if (serving === undefined) return this.#failure.text ?? 'there is no certificate yet';
    const problem = servingProblem(serving, this.#clock.now());
    if (problem !== undefined && problem !== 'Expiring') return `the certificate cannot be used: ${problem}`;
    if (!this.#isTrusted(serving))
      return this.#failure.text ?? 'the webhooks do not trust our certificate yet';
    // If this replica became ready too early, a rolling update would stop the replicas that the API servers already trust.
    if (this.#knownAt === undefined) return this.#failure.text ?? 'the webhooks have not been read yet';
    return this.#clock.elapsed() < this.#knownAt
      ? 'not every API server may trust our certificate yet'
      : undefined;
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, log } = this.#options;
    const clock = this.#clock;
    const onError = (error: unknown): void => log('warn', `watching again: ${describeError(error)}`);
    const named = (name: string): { fieldSelector: string } => ({ fieldSelector: `metadata.name=${name}` });
    const resume = (): void => this.#resume();
    const saw = (configuration?: ValidatingWebhookConfiguration): void => {
      this.#see(configuration === undefined ? new Set() : trustedAt(configuration));
      resume();
    };
    const secret = { namespace: SYSTEM_NAMESPACE, ...named(CERTIFICATES_SECRET) };
    await Promise.all([
      follow(
        cluster,
        { type: VALIDATING_WEBHOOK_CONFIGURATIONS, where: named(WEBHOOK.configuration), signal, clock },
        { onList: ([configuration]) => saw(configuration), onChange: saw, onGone: () => saw(), onError },
      ),
      follow(
        cluster,
        { type: SECRETS, where: secret, signal, clock },
        { onList: resume, onChange: resume, onGone: resume, onError },
      ),
      this.#loop(signal),
    ]);
  }

  async #loop(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      // Set before `#look`, so that a change during `#look` causes another one.
      const resumed = new AbortController();
      this.#resume = () => resumed.abort();
      failures = (await this.#look()) ? 0 : failures + 1;
      const waiting = AbortSignal.any([signal, resumed.signal]);
      if (failures > 0) await pause(this.#clock, doubling(MAX_RETRY_MS)(failures), waiting);
      else await this.#untilDue(waiting);
      await pause(this.#clock, MIN_PAUSE_MS, signal);
    }
  }

  /** Waits until time alone makes the next look necessary, or `waiting` aborts. */
  async #untilDue(waiting: AbortSignal): Promise<void> {
    do await pause(this.#clock, this.#nextLookMs(), waiting);
    while (!waiting.aborted && !this.#isLookDue());
  }

  #isLookDue(): boolean {
    const next = this.#next;
    // No watch shows the live webhook's bundle.
    if (next === undefined || this.#hasLiveWebhook || this.#isDue(next)) return true;
    const known = { authority: { cert: next.ca ?? '', key: '' }, serving: next };
    return next.managedBy === 'mtq-guard' && needsRenewal(known, this.#clock.now()) !== undefined;
  }

  get #hasLiveWebhook(): boolean {
    return (this.#settings.LIVE_MIGRATION ?? 'off') !== 'off';
  }

  /** Whether the rotation succeeded. */
  async #look(): Promise<boolean> {
    try {
      await this.#rotate();
      this.#failure.note(undefined);
      return true;
    } catch (error) {
      this.#failure.note(textOf(error));
      return false;
    }
  }

  async #rotate(): Promise<void> {
    const { cluster, log, onConfiguration } = this.#options;
    const now = this.#clock.now();
    // The bundle must contain the authority of the certificate that we serve, even without a readable Secret.
    const [wanted] = await Promise.allSettled([
      ensureCertificate({ cluster, log, now, lifetimes: this.#settings }),
    ]);
    if (wanted.status === 'fulfilled') this.#next = wanted.value;
    const next = this.#next;
    if (next === undefined) throw (wanted as PromiseRejectedResult).reason;
    if (this.#serving === undefined) this.#serve(next);
    const ca = [this.#serving?.ca, next.ca].join('');
    await this.#trustAtLive({ cluster, ca, now });
    const { before, after, configuration } = await ensureCaBundle({ cluster, ca, now });
    this.#knownAt ??= this.#knownFrom(next, before);
    onConfiguration?.(configuration);
    this.#see(after);
    if (this.#isDue(next)) this.#serve(next);
    if (wanted.status === 'rejected') throw wanted.reason;
  }

  /**
   * Adds our authority to the webhook of live migrations. A failure prevents only live migrations between clusters, so the replica is
   * ready nevertheless.
   */
  async #trustAtLive(trust: Trust): Promise<void> {
    if (!this.#hasLiveWebhook) return;
    const failure = await ensureCaBundle(trust, LIVE_WEBHOOKS).then(() => undefined, textOf);
    this.#liveFailure.note(failure);
  }

  /**
   * The time at which every API server knows the authority. A replica that starts just after a rotation must not become ready earlier.
   */
  #knownFrom(first: ServingCertificate, trusted: Fingerprints): number {
    const ours = fingerprintsOf(first.ca ?? '');
    const others = [...trusted].filter((print) => !ours.has(print));
    const isOld =
      [...ours].every((print) => trusted.has(print)) &&
      !isYoung(first, this.#clock.now(), this.#settings.CA_LEAD_MS);
    return others.length === 0 || isOld ? 0 : this.#clock.elapsed() + this.#settings.CA_LEAD_MS;
  }

  #see(trusted: Fingerprints): void {
    for (const known of this.#trustedSince.keys()) if (!trusted.has(known)) this.#trustedSince.delete(known);
    for (const print of trusted) {
      if (!this.#trustedSince.has(print)) this.#trustedSince.set(print, this.#clock.elapsed());
    }
  }

  #serve(certificate: ServingCertificate): void {
    this.#options.serve(certificate);
    this.#serving = certificate;
    const authorities = [...fingerprintsOf(certificate.ca ?? '')].map((print) => print.slice(0, 11));
    this.#options.log('info', 'serving with this certificate', {
      managedBy: certificate.managedBy,
      authorities,
    });
  }

  /** Whether this replica should change to `next` now. */
  #isDue(next: ServingCertificate): boolean {
    const current = this.#serving;
    if (current === undefined || current.cert === next.cert || !this.#isTrusted(next)) return false;
    const problem = servingProblem(current, this.#clock.now());
    const isUsable = (problem === undefined || problem === 'Expiring') && this.#isTrusted(current);
    return !isUsable || this.#leadLeftMs(next) <= 0;
  }

  #isTrusted({ ca = '' }: ServingCertificate): boolean {
    return [...fingerprintsOf(ca)].every((print) => this.#trustedSince.has(print));
  }

  /** Milliseconds until the authority has been in the bundle for CA_LEAD_MS. */
  #leadLeftMs({ ca = '' }: ServingCertificate): number {
    const since = [...fingerprintsOf(ca)].map((print) => this.#trustedSince.get(print) ?? Infinity);
    return Math.max(0, ...since) + this.#settings.CA_LEAD_MS - this.#clock.elapsed();
  }

  #nextLookMs(): number {
    const { CA_SECONDS, CERTIFICATE_SECONDS } = this.#settings;
    // A renewal is due when a third is left; this interval finds it in the first quarter of that third.
    const everyMs = Math.min(MAX_INTERVAL_MS, (Math.min(CA_SECONDS, CERTIFICATE_SECONDS) * 1_000) / 12);
    if (this.#next === undefined || this.#next.cert === this.#serving?.cert) return everyMs;
    return Math.min(everyMs, Math.max(0, this.#leadLeftMs(this.#next)));
  }
}

const textOf = (error: unknown): string =>
  error instanceof MissingWebhooks ? error.message : describeError(error);
