import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { drainable } from '../../functions/runtime/drain.ts';
import { boundConnections } from './bounded-connections.ts';
import type { KeyPair } from '../tls/key-pair.ts';

export interface ServerOptions {
  readonly reviewApp: RequestListener;
  readonly healthApp: RequestListener;
  /** The port for reviews; 0: any free one. */
  readonly tlsPort: number;
  /** The port for health; 0: any free one. */
  readonly port: number;
  /** The certificate, in PEM. Without it, every handshake fails until `useCertificate`. */
  readonly certificate?: KeyPair;
}

export interface GuardServer {
  /** The port for reviews (HTTPS). */
  readonly tlsPort: number;
  /** The port for health and dead letters (HTTP). */
  readonly port: number;
  /** Changes the certificate for new connections; open ones continue. Throws when certificate and key do not match. */
  useCertificate(certificate: KeyPair): void;
  /**
   * Serves for another `lingerMs`; each response closes its connection, so no client keeps one to this replica. Then refuses
   * new connections, finishes the running requests, and resolves when the last connection is closed.
   */
  close(lingerMs?: number): Promise<void>;
}

/** The time within which a client must send its whole request. */
const REQUEST_MS = 3_000;
/**
 * Any pod in the cluster may connect to both ports. The API server, the Broker, a kubelet and Prometheus send a request at
 * once, and the API server gives up after 3 s. A slower client would only hold a connection and memory.
 */
const CLIENT_TIMEOUTS = { headersTimeout: 3_000, connectionsCheckingInterval: 500 } as const;

/** Starts both servers. Rejects when a port is in use, and then closes the other one. */
export async function listen(options: ServerOptions): Promise<GuardServer> {
  const { cert, key } = options.certificate ?? {};
  const pair = cert === undefined || key === undefined ? {} : { cert, key };
  const reviews = createTlsServer(
    { ...pair, ...CLIENT_TIMEOUTS, handshakeTimeout: 3_000 },
    options.reviewApp,
  );
  const health = createServer(CLIENT_TIMEOUTS, options.healthApp);
  const drains = [drainedInTime(reviews), drainedInTime(health)];
  const close = async (lingerMs = 0): Promise<void> => {
    await Promise.all(drains.map((drain) => drain(lingerMs)));
  };
  try {
    const [tlsPort, port] = await Promise.all([
      listening(reviews, options.tlsPort),
      listening(health, options.port),
    ]);
    return {
      tlsPort,
      port,
      useCertificate: (next) => reviews.setSecureContext({ cert: next.cert, key: next.key }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts only the HTTP server; `close` works as above. */
export async function listenForHealth(
  healthApp: RequestListener,
  port: number,
): Promise<Pick<GuardServer, 'port' | 'close'>> {
  const health = createServer(CLIENT_TIMEOUTS, healthApp);
  return { port: await listening(health, port), close: drainedInTime(health) };
}

/** Makes the server drainable, with at most REQUEST_MS for each request, and bounds for all clients together. */
function drainedInTime(server: Server | TlsServer): ReturnType<typeof drainable> {
  const drain = drainable(server);
  boundConnections(server);
  server.requestTimeout = REQUEST_MS;
  return drain;
}

async function listening(server: Server | TlsServer, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
