import { Agent, createServer, request as send } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { newServingCertificate } from '../../cluster/serving-certificate.ts';

/** A write request of one of the project's processes. */
export interface Write {
  readonly account: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The body; undefined: none. */
  readonly body: KubernetesObject | undefined;
}

/** The process dies, the connection breaks, or the answer is a 504, as with a slow etcd. */
export type ProxyFault = 'kill' | 'cut' | '504';

/** A fault of one write: before the API server gets it, or after the API server has done it and before the client gets the answer. */
export interface Fault {
  readonly hits: (write: Write) => boolean;
  readonly when: 'before' | 'after';
  readonly proxyFault: ProxyFault;
}

/** A proxy between the project's processes and the API server. It forwards everything except writes that a fault hits. */
export interface FaultyProxy {
  /** Path of a kubeconfig for the same account through the proxy. */
  reroute(account: string, kubeconfig: string): string;
  /** Injects the fault into the next matching write only. Resolves with the time of the fault (performance.now()). */
  inject(fault: Fault): Promise<number>;
  stop(): Promise<void>;
}

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
}

interface Upstream {
  readonly server: URL;
  readonly agent: Agent;
}

interface Armed extends Fault {
  readonly injected: (at: number) => void;
}

const TIMEOUT_STATUS = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Timeout',
  message: 'etcdserver: request timed out',
  code: 504,
};

/** `kill`: ends the process of a service account at once. */
export async function startFaultyProxy(kill: (account: string) => void): Promise<FaultyProxy> {
  const certificate = newServingCertificate();
  const armed = new Set<Armed>();
  const upstreams = new Map<string, Upstream>();

  const server = createServer(certificate.serving, (request, answer) => {
    // A dying client breaks its connections, as the fault intends.
    handle(request, answer).catch(() => request.socket.destroy());
  });
  const { promise: listening, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, () => resolve(undefined));
  await listening;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  async function handle(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const [, account = '', ...rest] = (request.url ?? '').split('/');
    const path = `/${rest.join('/')}`;
    const upstream = upstreams.get(account);
    if (upstream === undefined) throw new Error(`unknown account ${account}`);
    const body = await bodyOf(request);
    const fault =
      request.method === 'GET' ? undefined : matchFault({ account, method: request.method, path, body });
    if (fault?.when !== 'before') {
      const response = await forward({ request, path, body, upstream }).catch((error: unknown) => {
        // The request never arrived, because an idle connection had ended. The fault waits for the next try.
        if (fault !== undefined) armed.add(fault);
        throw error;
      });
      if (fault === undefined) {
        relay(response, answer);
        return;
      }
      await bodyOf(response);
    }
    if (fault.proxyFault === 'kill') kill(account);
    fault.injected(performance.now());
    if (fault.proxyFault === '504') {
      answer.writeHead(504, { 'content-type': 'application/json', date: new Date().toUTCString() });
      answer.end(JSON.stringify(TIMEOUT_STATUS));
    } else request.socket.destroy();
  }

  function matchFault({ account, method = '', path, body }: Raw): Armed | undefined {
    const [place = '', query = ''] = path.split('?');
    if (query.includes('dryRun')) return undefined;
    const object = body.length === 0 ? undefined : (JSON.parse(body.toString('utf8')) as KubernetesObject);
    const write = { account, method, path: place, body: object };
    const found = [...armed].find((fault) => fault.hits(write));
    if (found !== undefined) armed.delete(found);
    return found;
  }

  return {
    reroute: (account, kubeconfig) => {
      const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
      const { cluster } = config.clusters[0];
      const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
      if (!upstreams.has(account))
        upstreams.set(account, {
          server: new URL(cluster.server),
          agent: new Agent({ keepAlive: true, ca }),
        });
      cluster.server = `https://localhost:${String(port)}/${account}`;
      cluster['certificate-authority-data'] = Buffer.from(certificate.ca).toString('base64');
      const file = `${kubeconfig}.by-proxy`;
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
      return file;
    },
    inject: (fault) => new Promise((injected) => armed.add({ ...fault, injected })),
    stop: async () => {
      server.closeAllConnections();
      for (const { agent } of upstreams.values()) agent.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

interface Raw {
  readonly account: string;
  readonly method: string | undefined;
  readonly path: string;
  readonly body: Buffer;
}

interface Forwarding {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly body: Buffer;
  readonly upstream: Upstream;
}

async function forward({ request, path, body, upstream }: Forwarding): Promise<IncomingMessage> {
  const { server, agent } = upstream;
  const { host: _host, ...headers } = request.headers;
  return new Promise((resolve, reject) => {
    const sent = send(
      { method: request.method, host: server.hostname, port: server.port, path, headers, agent },
      resolve,
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function relay(response: IncomingMessage, answer: ServerResponse): void {
  answer.writeHead(response.statusCode ?? 500, response.headers);
  // A watch's headers must not wait for its first event.
  answer.flushHeaders();
  response.pipe(answer);
  response.on('error', () => answer.destroy());
  answer.on('close', () => {
    if (!response.complete) response.destroy();
  });
}

/** Resolves when the message is complete; a complete answer means that the request took effect. */
async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
