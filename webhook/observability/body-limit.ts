import type { IncomingMessage } from 'node:http';

/**
 * The limit for every request to the guard. A review's object and oldObject are at most 1.5 MiB each in etcd, and JSON in JSON
 * may double them; an event has one of them.
 */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Reads and drops a body; a longer body ends its connection. */
export function discardBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) request.socket.destroy();
  });
}
