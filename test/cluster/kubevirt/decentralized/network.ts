import type { VmiStatus } from '../objects/types.ts';

/** gRPC service kubevirt.synchronization.Synchronize, as a synchronization controller serves it (facts/cross-cluster.md C3). */
export interface Synchronize {
  /** The source tells the target. Rejects with an `RpcError`, as the others do. */
  syncSource(migrationID: string, status: VmiStatus): Promise<void>;
  /** The target tells the source. */
  syncTarget(migrationID: string, status: VmiStatus): Promise<void>;
  /** Deletes the VMIM of this UID. */
  cancel(migrationUid: string): Promise<void>;
}

/** A synchronization controller in the network, and its certificates as its cluster has them at that moment. */
export interface Peer {
  /** "10.8.0.7:9185" */
  readonly address: string;
  /** PEM of the authority that signed its certificates, for both directions. */
  readonly authority: () => string;
  /** PEM bundle of the authorities whose certificates it accepts. */
  readonly bundle: () => string;
}

interface Listening extends Peer {
  readonly service: Synchronize;
}

/** A failed call, with the text that the caller's controller writes into the condition. */
export class RpcError extends Error {}

const unavailable = (description: string): RpcError =>
  new RpcError(`rpc error: code = Unavailable desc = connection error: desc = "transport: ${description}"`);

/** The server's own refusal. */
export const unknownError = (message: string): RpcError =>
  new RpcError(`rpc error: code = Unknown desc = ${message}`);

const UNTRUSTED =
  'authentication handshake failed: could not verify peer certificate: x509: certificate signed by unknown authority';

/** The network between the synchronization controllers of all clusters. */
export class SynchronizationNetwork {
  readonly #listening = new Map<string, Listening>();
  readonly #cut = new Set<string>();
  readonly #delay: () => Promise<void>;
  #held: Promise<void> = Promise.resolve();

  /** `delay`: how long a call is on its way, one way; no time when left out. */
  constructor(delay: () => Promise<void> = () => Promise.resolve()) {
    this.#delay = delay;
  }

  /** Returns how to stop. */
  listen(peer: Peer, service: Synchronize): () => void {
    const listening = { ...peer, service };
    this.#listening.set(peer.address, listening);
    return () => {
      if (this.#listening.get(peer.address) === listening) this.#listening.delete(peer.address);
    };
  }

  /** From now on no call reaches or leaves this address, until the result is called. */
  cut(address: string): () => void {
    this.#cut.add(address);
    return () => void this.#cut.delete(address);
  }

  /** From now on no call sets out, until the result is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#held = promise;
    return () => resolve(undefined);
  }

  /** Rejects with an RpcError. */
  async call(from: Peer, to: string, request: (service: Synchronize) => Promise<void>): Promise<void> {
    await this.#held;
    await this.#delay();
    const callee = this.#calleeAt(from, to);
    await request(callee.service);
    await this.#delay();
    // The answer is lost with the connection, and what the call did stays.
    this.#calleeAt(from, to);
  }

  #calleeAt(from: Peer, to: string): Listening {
    if (this.#cut.has(from.address) || this.#cut.has(to))
      throw unavailable(`Error while dialing: dial tcp ${to}: connect: no route to host`);
    const callee = this.#listening.get(to);
    if (callee === undefined)
      throw unavailable(`Error while dialing: dial tcp ${to}: connect: connection refused`);
    const isTrusted =
      from.bundle().includes(callee.authority()) && callee.bundle().includes(from.authority());
    if (!isTrusted) throw unavailable(UNTRUSTED);
    return callee;
  }
}
