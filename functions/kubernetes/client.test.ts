import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { newServingCertificate } from '../../test/cluster/serving-certificate.ts';
import { connect } from './client.ts';
import { Unreachable } from './errors.ts';
import { NODES } from './resources.ts';

const folder = temporaryFolder('mtq-client-');
const { serving, ca } = newServingCertificate();
const apiServer = https.createServer(serving, ({ url = '' }, response) =>
  response.end(url.includes('watch=') ? 'canary\n' : '{"gitVersion":"v1.34.1"}'),
);
const proxy = http.createServer();
/** What the proxy was asked to connect to. */
const connected: (string | undefined)[] = [];

const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  proxy.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    connected.push(request.url);
    const upstream = net.connect(portOf(apiServer), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [upstream, socket]) end.on('error', () => undefined);
  });
  for (const server of [apiServer, proxy]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});

afterAll(() => {
  for (const server of [apiServer, proxy]) {
    server.close();
    server.closeAllConnections();
  }
  folder.remove();
});

function kubeconfig(cluster: object, user: object = {}): string {
  const file = join(folder.path, 'kubeconfig');
  const authority = Buffer.from(ca).toString('base64');
  const common = { 'certificate-authority-data': authority, 'tls-server-name': 'localhost' };
  const config = {
    clusters: [{ name: 'one', cluster: { ...common, ...cluster } }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
    users: [{ name: 'one', user }],
    'current-context': 'one',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

test('a kubeconfig without a proxy is used directly', async () => {
  const server = `https://127.0.0.1:${String(portOf(apiServer))}`;
  expect(await connect(kubeconfig({ server })).version()).toBe('v1.34.1');
  expect(connected).toEqual([]);
});

test('a kubeconfig with a proxy-url is used through the proxy', async () => {
  const through = `http://127.0.0.1:${String(portOf(proxy))}`;
  const file = kubeconfig({ server: 'https://nowhere.example:6443', 'proxy-url': through });
  expect(await connect(file).version()).toBe('v1.34.1');
  expect(connected).toEqual(['nowhere.example:6443']);
});

test('of a line of a watch that is no JSON, the error shows nothing', async () => {
  const server = `https://127.0.0.1:${String(portOf(apiServer))}`;
  const { signal } = new AbortController();
  const lines = connect(kubeconfig({ server })).watch(NODES, { resourceVersion: '1' }, signal);
  const read = lines[Symbol.asyncIterator]().next();
  await expect(read).rejects.toThrow(Unreachable);
  await expect(read).rejects.not.toThrow(/canary/);
});

describe('a credential plugin', () => {
  const plugin = (script: string): object => ({
    exec: {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' },
      ...{ command: process.execPath, args: ['-e', script] },
    },
  });
  const server = (): string => `https://127.0.0.1:${String(portOf(apiServer))}`;

  test('is asked once by requests at the same time', async () => {
    const asked = join(folder.path, 'asked');
    const credential = {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' },
      status: { token: 'secret' },
    };
    const script = `require('node:fs').appendFileSync('${asked}', 'x'); console.log('${JSON.stringify(credential)}')`;
    const cluster = connect(kubeconfig({ server: server() }, plugin(script)));
    await Promise.all([cluster.version(), cluster.version(), cluster.version()]);
    expect(readFileSync(asked, 'utf8')).toBe('x');
  });

  test('that fails is no answer', async () => {
    const cluster = connect(kubeconfig({ server: server() }, plugin('process.exit(1)')));
    await expect(cluster.version()).rejects.toThrow(Unreachable);
  });
});
