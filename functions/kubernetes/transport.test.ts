import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newServingCertificate } from '../../test/cluster/serving-certificate.ts';
import { Unreachable } from './errors.ts';
import { readAll, Transport } from './transport.ts';

const { serving, ca } = newServingCertificate();
const SILENCE_MS = 200;

/** A server in a thread, because a test blocks the main one. `/silent` gets no answer, `/broken` the half of one, `/refused` a secret. */
const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:https').createServer(workerData, (request, response) => {
    if (request.url === '/broken') response.write('answ');
    else if (request.url === '/refused') response.writeHead(502, 'of the server').end('{"token":"canary"}');
    else if (request.url !== '/silent') response.end('answer');
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

let server: Worker;
let transport: Transport;

beforeAll(async () => {
  server = new Worker(SERVER, { eval: true, workerData: serving });
  const [port] = (await once(server, 'message')) as [number];
  const credentials = (): Promise<{ ca: string; servername: string }> =>
    Promise.resolve({ ca, servername: 'localhost' });
  transport = new Transport({ server: new URL(`https://127.0.0.1:${String(port)}`), credentials }, 'test');
});

afterAll(async () => {
  await server.terminate();
});

const get = async (path: string): Promise<string> =>
  readAll((await transport.send({ method: 'GET', path, silenceMs: SILENCE_MS })).message);

/** Sends a request while this process has no CPU time. The connection is open: the request leaves at once. */
async function getMeanwhile(path: string): Promise<string> {
  await get('/first');
  const answer = get(path);
  answer.catch(() => undefined);
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * SILENCE_MS);
  return answer;
}

test('Transport takes an answer that came while the process had no CPU time', async () => {
  await expect(getMeanwhile('/second')).resolves.toBe('answer');
});

test('Transport gives up a server that is silent after that', async () => {
  await expect(getMeanwhile('/broken')).rejects.toThrow(Unreachable);
});

test('Transport does not look an IPv6 address up', async () => {
  const lookedUp: string[] = [];
  const lookup: LookupFunction = (name, _options, done) => {
    lookedUp.push(name);
    done(new Error('no such name'), []);
  };
  const access = { server: new URL('https://[::1]:1'), credentials: () => Promise.resolve({ lookup }) };
  await expect(new Transport(access, 'test').send({ method: 'GET', path: '/' })).rejects.toThrow(Unreachable);
  expect(lookedUp).toEqual([]);
});

test('Transport gives up a server whose name does not resolve', async () => {
  const lookup: LookupFunction = () => undefined;
  const access = {
    server: new URL('https://nobody.example'),
    credentials: () => Promise.resolve({ lookup }),
    silenceMs: SILENCE_MS,
  };
  await expect(new Transport(access, 'test').send({ method: 'GET', path: '/' })).rejects.toThrow(Unreachable);
});

test('Transport gives up a server that is silent', async () => {
  await expect(get('/silent')).rejects.toThrow(Unreachable);
});

test('Transport shows nothing of a refusal that no API server has written', async () => {
  await expect(get('/refused')).rejects.toThrow(/^GET \/refused: HTTP 502 Bad Gateway$/);
});
