import type { RequestListener } from 'node:http';
import { serve, type KeyPair } from '../../functions/server/serve.ts';

export interface ServerOptions {
  readonly reviewApp: RequestListener;
  readonly healthApp: RequestListener;
  /** The port for reviews; 0: any free one. */
  readonly tlsPort: number;
  /** The port for health; 0: any free one. */
  readonly port: number;
  /** The certificate. Without it, every handshake fails until `useCertificate`. */
  readonly certificate?: KeyPair;
  /** PEM: reviews are served only to clients with a certificate of this authority. */
  readonly clientCa?: string | undefined;
}

export interface GuardServer {
  /** The port for reviews (HTTPS). */
  readonly tlsPort: number;
  /** The port for health and dead letters (HTTP). */
  readonly port: number;
  /** See Serving. */
  useCertificate(certificate: KeyPair): void;
  /** See Serving. */
  close(lingerMs?: number): Promise<void>;
}

/** Milliseconds within which a client must send its whole request: the API server gives up after 3 s. */
const REQUEST_MS = 3_000;

/** Starts both servers. Rejects when a port is in use, and then closes the other one. */
export async function listen({
  reviewApp,
  healthApp,
  tlsPort,
  port,
  ...tls
}: ServerOptions): Promise<GuardServer> {
  const [reviews, health] = await Promise.allSettled([
    serve({ listener: reviewApp, port: tlsPort, requestMs: REQUEST_MS, tls }),
    listenForHealth(healthApp, port),
  ]);
  if (reviews.status === 'fulfilled' && health.status === 'fulfilled') {
    const servers = [reviews.value, health.value];
    return {
      tlsPort: reviews.value.port,
      port: health.value.port,
      useCertificate: (certificate) => reviews.value.useCertificate(certificate),
      close: async (lingerMs) => {
        await Promise.all(servers.map((server) => server.close(lingerMs)));
      },
    };
  }
  for (const result of [reviews, health]) if (result.status === 'fulfilled') await result.value.close();
  throw [reviews, health].find((result) => result.status === 'rejected')?.reason;
}

/** Starts only the HTTP server. */
export const listenForHealth = (
  healthApp: RequestListener,
  port: number,
): Promise<Pick<GuardServer, 'port' | 'close'>> =>
  serve({ listener: healthApp, port, requestMs: REQUEST_MS });
