import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** What each connection had read when the headers of its last request were here. */
const readAt = new WeakMap<Socket, number>();

/**
 * A request that ends its connection where it comes in one read with the one before: no client of this project sends a request before the
 * answer to the last one (HTTP pipelining). Node parses a whole read, of up to 1,560 requests, before anything else runs, even if the
 * socket is destroyed meanwhile. It stops only at an upgrade, and destroys a socket that nothing takes over.
 */
export class OneAtATime extends IncomingMessage {
  readonly #isPipelined: boolean;

  constructor(socket: Socket) {
    super(socket);
    this.#isPipelined = readAt.get(socket) === socket.bytesRead;
    readAt.set(socket, socket.bytesRead);
  }

  /** Node asks this as soon as the headers are here. */
  get upgrade(): boolean {
    return this.#isPipelined;
  }

  /** Ignores the headers: no server of this project upgrades. */
  set upgrade(_: unknown) {}
}
