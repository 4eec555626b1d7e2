import type { IncomingMessage } from 'node:http';

/** For the rejection of a request's handler: who sent it no longer waits, and it has broken off. Throws any other error. */
export const dropBroken =
  (request: IncomingMessage) =>
  (error: unknown): void => {
    if (request.complete) throw error;
    request.socket.destroy();
  };
