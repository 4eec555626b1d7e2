import { LEASES } from '../../../../functions/kubernetes/resources.ts';
import { KUBEVIRT } from '../../../../functions/domain/names.ts';
import { describeError, isNotFound } from '../../../../functions/kubernetes/errors.ts';
import type { World } from '../world.ts';

/** client-go's leader election with virt-controller's own times (LeaseDuration, RetryPeriod). */
const LEASE_SECONDS = 15;
const RENEW_MS = 2_000;

/** A MicroTime. */
const toMicroTime = (at: Date): string => at.toISOString().replace('Z', '000Z');

/**
 * The Lease of virt-controller's only replica: it renews it every two seconds, and takes it again at once after a restart, because its
 * holder is the same.
 */
export class LeaderElection {
  readonly #world: World;
  #cancel: () => void = () => undefined;
  #last: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Resolves when it leads. */
  start(): Promise<void> {
    this.#renew();
    return this.#last;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#last;
  }

  #renew(): void {
    this.#last = this.#write().then(() => {
      if (!this.#stopped) this.#cancel = this.#world.clock.after(RENEW_MS, () => this.#renew());
    });
  }

  async #write(): Promise<void> {
    const { cluster, namespace, clock, log } = this.#world;
    const renewTime = toMicroTime(clock.now());
    const at = { namespace, name: KUBEVIRT.controllerLease };
    try {
      await cluster.patch(LEASES, at, { merge: { spec: { renewTime } } });
    } catch (error) {
      if (!isNotFound(error)) {
        log(`Lease not renewed: ${describeError(error)}`);
        return;
      }
      const spec = { acquireTime: renewTime, renewTime, leaseDurationSeconds: LEASE_SECONDS };
      await cluster.create(LEASES, { metadata: at, spec }).catch((failed: unknown) => {
        log(`Lease not created: ${describeError(failed)}`);
      });
    }
  }
}
