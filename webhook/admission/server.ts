import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { drainable } from '../../functions/runtime/drain.ts';
import type { KeyPair } from '../tls/x509.ts';

export interface ServerOptions {
  readonly reviewApp: RequestListener;
  readonly healthApp: RequestListener;
  /** 0: any free one. */
  readonly tlsPort: number;
  /** 0: any free one. */
  readonly port: number;
  /** PEM; left out: every handshake fails until there is one. */
  readonly certificate?: KeyPair;
}

export interface GuardServer {
  /** Where reviews are taken (HTTPS). */
  readonly tlsPort: number;
  /** Where health and dead letters are taken (HTTP). */
  readonly port: number;
  /** New connections get this one; those that are open go on. Throws when certificate and key do not belong together. */
  useCertificate(certificate: KeyPair): void;
  /**
   * Serves for `lingerMs` more, while whoever still sends learns that we are leaving: each answer ends its connection.
   * Then takes no more connections, answers what is under way, and resolves when the last connection is gone.
   */
  close(lingerMs?: number): Promise<void>;
}

/** A whole request must be here by then. */
const REQUEST_MS = 3_000;
/**
 * Anybody in the cluster may connect, to both ports. The API server, the Broker, a kubelet and Prometheus send what they
 * have in one go, and the API server gives up after 3 s: whoever is slower than that holds a connection, and what it has
 * sent so far, for nothing.
 */
const CLIENT_TIMEOUTS = { headersTimeout: 3_000, connectionsCheckingInterval: 500 } as const;

/** Starts both servers; rejects when a port is taken (and then leaves none open). */
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

/** Only the plain HTTP server; `close` as above. */
export async function listenForHealth(
  healthApp: RequestListener,
  port: number,
): Promise<Pick<GuardServer, 'port' | 'close'>> {
  const health = createServer(CLIENT_TIMEOUTS, healthApp);
  return { port: await listening(health, port), close: drainedInTime(health) };
}

/** As `drainable`, and nobody has longer than REQUEST_MS for a request. */
function drainedInTime(server: Server | TlsServer): ReturnType<typeof drainable> {
  const drain = drainable(server);
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
