import { API_SERVERS } from '../../functions/domain/names.ts';
import type { EndpointSlice } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow, inMap } from '../../functions/kubernetes/follow.ts';
import { ENDPOINT_SLICES } from '../../functions/kubernetes/resources.ts';
import type { Log } from '../../functions/runtime/log.ts';

/**
 * The addresses that the API servers publish (the same EndpointSlices as for a proof). A review from one of them waits for no other client.
 * Where a network hides their addresses, or is between the nodes, they are clients like others.
 */
export class ApiServerAddresses {
  readonly #slices = new Map<string, EndpointSlice>();
  /** Published addresses from which a review has come. */
  readonly #seen = new Set<string>();
  readonly #cluster: Cluster;
  readonly #log: Log;

  constructor(cluster: Cluster, log: Log) {
    this.#cluster = cluster;
    this.#log = log;
  }

  readonly has = (address: string): boolean => this.#published().includes(address);

  /** Notes that a review came from the address. */
  readonly note = (address: string): void => {
    if (this.has(address)) this.#seen.add(address);
  };

  /**
   * Whether no API server sends reviews from the address: each has sent one from an address that it publishes. One that is hidden never does,
   * and then no address is refused.
   */
  readonly isForeign = (address: string): boolean => {
    const published = this.#published();
    const areSeen = published.length > 0 && published.every((each) => this.#seen.has(each));
    return areSeen && !published.includes(address);
  };

  readonly #published = (): string[] =>
    [...this.#slices.values()].flatMap(({ endpoints }) =>
      (endpoints ?? []).flatMap(({ addresses }) => addresses),
    );

  /** Keeps the addresses up to date until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await follow(
      this.#cluster,
      { type: ENDPOINT_SLICES, where: API_SERVERS.slices, signal },
      {
        ...inMap(this.#slices),
        onError: (error) =>
          this.#log('warn', 'the addresses of the API servers are not known', {
            why: describeError(error),
          }),
      },
    );
  }
}
