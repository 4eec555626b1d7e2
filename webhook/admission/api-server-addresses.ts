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
  readonly #cluster: Cluster;
  readonly #log: Log;

  constructor(cluster: Cluster, log: Log) {
    this.#cluster = cluster;
    this.#log = log;
  }

  readonly has = (address: string): boolean =>
    [...this.#slices.values()].some(({ endpoints }) =>
      (endpoints ?? []).some(({ addresses }) => addresses.includes(address)),
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
