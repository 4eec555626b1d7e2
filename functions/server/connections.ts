import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { onScatteredBody } from './scattered-bodies.ts';

/**
 * Maximum number of connections, more than the API servers, the Broker, the functions and a kubelet use. A connection takes up to 100
 * KiB.
 */
const MAX_CONNECTIONS = 256;
/** Bytes of answers that clients do not read. */
const MAX_UNREAD = 16 * 1024 * 1024;

interface Connection {
  /** The TCP connection, also of TLS. */
  readonly socket: Socket;
  /** The socket that carries the requests. */
  carrier?: Socket;
  /** The response to the request under way. */
  response?: ServerResponse | undefined;
}

/**
 * Bounds what clients hold by their connections. With `maxConnections`, a tenant with all of them would shut out the API server.
 * So the server accepts a new connection, and closes the least recently used one whose client does not wait for an answer.
 */
export function boundConnections(server: Server | TlsServer, max = MAX_CONNECTIONS): void {
  /** Open connections, the least recently used first. The key is the client's address, because a request over TLS has another socket. */
  const open = new Map<string, Connection>();
  const dropOne = (): boolean => {
    const [key, connection] = [...open].find(([, each]) => !isAwaitingAnswer(each)) ?? [];
    if (key === undefined) return false;
    open.delete(key);
    connection?.socket.destroy();
    return true;
  };
  /** Drops the connection with the most unread bytes, which is never the API server's: it reads its answers. */
  const dropMostUnread = (): void => {
    const [key, connection] = [...open].reduce((most, each) =>
      unreadOf(each[1]) > unreadOf(most[1]) ? each : most,
    );
    open.delete(key);
    connection.socket.destroy();
  };
  /** Each of a client's connections may hold another such read, of 28 ms: the first one ends those that do not wait for an answer. */
  const dropAllOf = (address: string): void => {
    for (const [key, connection] of open) {
      if (!key.startsWith(`${address} `) || isAwaitingAnswer(connection)) continue;
      open.delete(key);
      connection.socket.destroy();
    }
  };
  server.on('connection', (socket: Socket) => {
    if (open.size >= max && !dropOne()) {
      socket.destroy();
      return;
    }
    const key = addressOf(socket);
    open.set(key, { socket });
    socket.once('close', () => {
      if (open.get(key)?.socket === socket) open.delete(key);
    });
  });
  server.prependListener('request', (request, response: ServerResponse) => {
    const { socket: carrier } = request;
    onScatteredBody(request, () => dropAllOf(String(carrier.remoteAddress)));
    const key = addressOf(carrier);
    const connection = open.get(key);
    // With requests before the last answer, which no client of the guard sends, one connection could hold any number.
    if (connection === undefined || connection.response?.writableEnded === false) {
      carrier.destroy();
      return;
    }
    open.delete(key);
    open.set(key, Object.assign(connection, { carrier, response }));
    response.once('close', () => {
      if (connection.response === response) connection.response = undefined;
    });
    while (sumOfUnread(open) > MAX_UNREAD) dropMostUnread();
  });
}

const addressOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const isAwaitingAnswer = ({ response }: Connection): boolean =>
  response !== undefined && response.req.complete && !response.writableEnded;

const unreadOf = ({ carrier }: Connection): number => carrier?.writableLength ?? 0;

const sumOfUnread = (open: ReadonlyMap<string, Connection>): number =>
  [...open.values()].reduce((sum, each) => sum + unreadOf(each), 0);
