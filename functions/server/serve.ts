import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { boundConnections } from './connections.ts';
import { drainable } from './drain.ts';
import { OneAtATime } from './one-at-a-time.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface ServerOptions {
  readonly listener: RequestListener;
  /** 0: any free one. */
  readonly port: number;
  /** Milliseconds within which a client must send its whole request. */
  readonly requestMs: number;
  /** See drainable. */
  readonly drainMs?: number;
  /** Certificates; the server speaks HTTP if left out. */
  readonly tls?: TlsServing;
}

export interface TlsServing {
  /** The certificate; every handshake fails until `useCertificate` if left out. */
  readonly certificate?: KeyPair | undefined;
  /** PEM: only clients with a certificate of this authority are served. */
  readonly clientCa?: string | undefined;
}

export interface Serving {
  readonly port: number;
  /** Changes the certificate for new connections; open ones continue. Throws when certificate and key do not match. */
  readonly useCertificate: (certificate: KeyPair) => void;
  /**
   * Serves for another `lingerMs`; each response closes its connection, so no client keeps one to this process. Then refuses new
   * connections, finishes the running requests, and resolves when the last connection is closed.
   */
  readonly close: (lingerMs?: number) => Promise<void>;
}

/**
 * Any pod in the cluster may connect. The API server, the Broker, a kubelet and Prometheus send their headers at once. A slower client would
 * only hold a connection and memory.
 */
const HEADERS_MS = 3_000;
const OPTIONS = {
  headersTimeout: HEADERS_MS,
  connectionsCheckingInterval: 500,
  IncomingMessage: OneAtATime,
} as const;

/**
 * Serves HTTP, or HTTPS, with bounds for what all clients together may hold: the only way in which a process of this project serves. Rejects
 * when the port is in use.
 */
export async function serve({ listener, port, requestMs, drainMs, tls }: ServerOptions): Promise<Serving> {
  const server = tls === undefined ? createServer(OPTIONS, listener) : newTlsServer(listener, tls);
  const close = drainable(server, drainMs);
  boundConnections(server);
  server.prependListener('request', closeIfUnread);
  // Node would answer by itself, past all bounds.
  server.on('checkExpectation', (...asked) => server.emit('request', ...asked));
  server.requestTimeout = requestMs;
  return {
    port: await listening(server, port),
    close,
    useCertificate: ({ cert, key }) => {
      if (tls !== undefined) (server as TlsServer).setSecureContext({ ...trustOf(tls), cert, key });
    },
  };
}

/**
 * Closes the connection after an answer to a body that nothing has begun to read, and to an upgrade, after which Node no longer parses: it
 * would read what comes at the speed of its sender.
 */
function closeIfUnread(request: IncomingMessage, response: ServerResponse): void {
  const isUpgrade = request.headers.upgrade !== undefined || request.method === 'CONNECT';
  response.prependOnceListener('finish', () => {
    const isUnread = !request.complete && request.readableFlowing === null;
    if (isUpgrade || isUnread) request.socket.destroySoon();
  });
}

const newTlsServer = (listener: RequestListener, tls: TlsServing): TlsServer =>
  createTlsServer(
    {
      ...OPTIONS,
      handshakeTimeout: HEADERS_MS,
      ...tls.certificate,
      ...trustOf(tls),
      ...(tls.clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: true }),
    },
    listener,
  );

const trustOf = ({ clientCa }: TlsServing): { readonly ca?: string } =>
  clientCa === undefined ? {} : { ca: clientCa };

async function listening(server: Server | TlsServer, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
