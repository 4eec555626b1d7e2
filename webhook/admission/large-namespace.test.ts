import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { newServingCertificate } from '../../test/cluster/serving-certificate.ts';
import { aNamespace, lockedUnreadably } from '../../test/support/builders/namespace.ts';

const NAMESPACES = '/api/v1/namespaces';
const LARGE = 'x'.repeat(200 * 1024);
const TRICKLE_MS = 200;

const folder = temporaryFolder('mtq-large-namespace-');
const { serving, ca } = newServingCertificate();
let guard: ChildProcess;
let trickle: NodeJS.Timeout | undefined;
/** Resolves when the guard reads the tenant's namespace for a repair. */
const repairing = Promise.withResolvers<undefined>();

/** An answer that is large and does not end. */
function neverEnd(response: ServerResponse): void {
  response.write(`{"metadata":{"name":"${LARGE}`);
  trickle ??= setInterval(() => response.write('x'), TRICKLE_MS);
  repairing.resolve(undefined);
}

/** An API server with one locked namespace. */
const answer: RequestListener = ({ url = '' }, response) => {
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  if (searchParams.has('watch')) response.flushHeaders();
  else if (pathname === `${NAMESPACES}/tenant`) neverEnd(response);
  else if (pathname === `${NAMESPACES}/${SYSTEM_NAMESPACE}`)
    response.end(JSON.stringify({ metadata: { name: LARGE } }));
  else {
    const items = pathname === NAMESPACES ? [aNamespace(lockedUnreadably())] : [];
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items, gitVersion: 'v1.34.1' }));
  }
};
const apiServer = createServer(serving, answer);

function kubeconfig(): string {
  const file = join(folder.path, 'kubeconfig');
  const cluster = {
    server: `https://127.0.0.1:${String((apiServer.address() as AddressInfo).port)}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
    'tls-server-name': 'localhost',
  };
  const config = {
    clusters: [{ name: 'one', cluster }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
    users: [{ name: 'one', user: {} }],
    'current-context': 'one',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Starts the guard; resolves with the port for its health. */
async function start(): Promise<number> {
  const own = { KUBECONFIG: kubeconfig(), ADMISSION: 'policy', PORT: '0', K_SINK: 'http://127.0.0.1:9' };
  guard = spawn(process.execPath, ['webhook/main.ts'], {
    env: { PATH: process.env['PATH'], ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (guard.stdout === null) throw new Error('it has no output');
  return new Promise((resolve) => {
    // Reads on: a full pipe would stop the guard.
    createInterface({ input: guard.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { message, port } = JSON.parse(line) as { message: string; port: number };
      if (message === 'listening') resolve(port);
    });
  });
}

beforeAll(async () => {
  apiServer.listen(0, '127.0.0.1');
  await once(apiServer, 'listening');
});

afterAll(() => {
  clearInterval(trickle);
  guard.kill('SIGKILL');
  apiServer.close();
  apiServer.closeAllConnections();
  folder.remove();
});

test('a large object of a repair does not delay the read that readiness and reviews make', async () => {
  const port = await start();
  await repairing.promise;
  let status = 0;
  while (status !== 200) status = (await fetch(`http://127.0.0.1:${String(port)}/health/readiness`)).status;
  expect(guard.exitCode).toBeNull();
});
