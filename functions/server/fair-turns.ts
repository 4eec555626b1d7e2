import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds of work after which the event loop is left to others, for as long as the work took. */
const SLICE_MS = 10;
/** Milliseconds for which it is left, at most: a process that got no CPU time has not worked. */
const MAX_PAUSE_MS = 100;

interface Client {
  /** Milliseconds that its requests were at work, on a scale on which a client that comes back begins where the others are. */
  used: number;
  atWork: number;
  readonly waiting: (() => void)[];
}

export interface TurnOptions {
  /** Whether requests from this address do not wait: those of an API server. */
  readonly isFirst?: (address: string) => boolean;
  /** Maximum number of requests at work at a time. While one waits for the API server, the next one works. */
  readonly max?: number;
  readonly maxOfAddress?: number;
}

/**
 * Gives a server's requests their turn, so that the work for one address does not hold up the others: any pod may connect, and all share a
 * thread. Next is a request of the address that has used the least time (S. J. Golestani, "A self-clocked fair queueing scheme for broadband
 * applications", INFOCOM 1994).
 */
export class FairTurns {
  readonly isFirst: (address: string) => boolean;
  /** Clients with requests that wait or are at work, by their address. */
  readonly #clients = new Map<string, Client>();
  /** `used` of the request that was begun last. */
  #virtual = 0;
  #atWork = 0;
  #isBeginning = false;
  readonly #max: number;
  readonly #maxOfAddress: number;

  constructor({ isFirst = () => false, max = 16, maxOfAddress = 4 }: TurnOptions = {}) {
    this.isFirst = isFirst;
    this.#max = max;
    this.#maxOfAddress = maxOfAddress;
  }

  /**
   * Resolves when it is the request's turn, to a function that ends the turn; undefined if the client has gone meanwhile. `response`: of
   * the request.
   */
  async take(response: ServerResponse): Promise<(() => void) | undefined> {
    const address = addressOf(response.req);
    if (this.isFirst(address)) return () => undefined;
    const client = this.#clientAt(address);
    const isHere = await new Promise<boolean>((resolve) => {
      const begin = (): void => resolve(true);
      client.waiting.push(begin);
      response.once('close', () => {
        const at = client.waiting.indexOf(begin);
        if (at < 0) return;
        client.waiting.splice(at, 1);
        resolve(false);
      });
      void this.#begin();
    });
    return isHere ? this.#begun(client) : undefined;
  }

  #clientAt(address: string): Client {
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    const client: Client = { used: this.#virtual, atWork: 0, waiting: [] };
    this.#clients.set(address, client);
    return client;
  }

  #begun(client: Client): () => void {
    const since = performance.now();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      client.used += performance.now() - since;
      client.atWork -= 1;
      this.#atWork -= 1;
      void this.#begin();
    };
  }

  /** Begins what may begin. The work of all has about half of the thread: API servers, probes and repairs have the rest. */
  async #begin(): Promise<void> {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    await nextTurn();
    let since = performance.now();
    while (this.#beginOne()) {
      // The request's work goes on in microtasks, until it waits for something.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const workedMs = performance.now() - since;
      if (workedMs < SLICE_MS) continue;
      await delay(Math.min(workedMs, MAX_PAUSE_MS));
      since = performance.now();
    }
    this.#isBeginning = false;
  }

  #beginOne(): boolean {
    const next = this.#atWork < this.#max ? this.#next() : undefined;
    const begin = next?.waiting.shift();
    if (next === undefined || begin === undefined) {
      this.#forget();
      return false;
    }
    this.#virtual = Math.max(this.#virtual, next.used);
    next.atWork += 1;
    this.#atWork += 1;
    begin();
    return true;
  }

  #next(): Client | undefined {
    let next: Client | undefined;
    for (const client of this.#clients.values()) {
      if (client.waiting.length === 0 || client.atWork >= this.#maxOfAddress) continue;
      if (next === undefined || client.used < next.used) next = client;
    }
    return next;
  }

  /** Forgets clients without requests. One that has used more than the others is kept, because it would be new at once. */
  #forget(): void {
    for (const [address, { atWork, waiting, used }] of this.#clients) {
      if (atWork === 0 && waiting.length === 0 && (used <= this.#virtual || this.#atWork === 0))
        this.#clients.delete(address);
    }
  }
}

/** The next turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The client's address; an IPv4 address as such, also on a socket of IPv6. */
export const addressOf = ({ socket }: IncomingMessage): string =>
  (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
