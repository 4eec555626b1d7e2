import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { KeyPair } from '../../../functions/server/serve.ts';

/** The thread of startHostileServer: an API server whose way to answer is the first part of the path. */

const MIB = 1024 * 1024;
const TICK_MS = 500;

const about = ({ name, namespace }: Asked): string =>
  JSON.stringify({ name, namespace, uid: name, resourceVersion: '7', creationTimestamp: '' });

interface Asked {
  readonly isWatch: boolean;
  readonly isList: boolean;
  readonly name: string;
  /** undefined: of the cluster. */
  readonly namespace: string | undefined;
}

/** Lists of these have no namespace. */
const OF_CLUSTER = /^(?:namespaces|nodes|storageclasses|storageprofiles|virtualmachinecluster\w+)$/;

function askedBy({ url = '', method }: IncomingMessage): Asked {
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const name = pathname.split('/').at(-1) ?? '';
  const isWatch = searchParams.has('watch');
  const isList = !isWatch && method === 'GET' && name.endsWith('s');
  const [, within] = /\/namespaces\/([^/]+)\/./.exec(pathname) ?? [];
  const anywhere = (isList || isWatch) && !OF_CLUSTER.test(name) ? 'vms' : undefined;
  return { isWatch, isList, name, namespace: within ?? anywhere };
}

/** An answer of the kind that was asked for, with this part of an object. */
function answer(asked: Asked, part: string): string {
  const { isWatch, isList } = asked;
  const object = `{"metadata":${about(asked)}${part}}`;
  if (isWatch) return `{"type":"MODIFIED","object":${object}}\n`;
  return isList ? `{"metadata":{"resourceVersion":"7"},"items":[${object}]}` : object;
}

const of = (part: string, bytes: number): string =>
  `[${Array.from({ length: Math.floor(bytes / (part.length + 1)) }, () => part).join()}]`;

const status = (code: number, message: string): string =>
  JSON.stringify({ kind: 'Status', code, reason: 'Reason\u0007', message, details: { causes: 7 } });

const LONG_TEXT = `\u001b[31m${'canary\n'.repeat(30_000)}`;

type Answer = (response: ServerResponse, asked: Asked) => void;

const whole =
  (part: string): Answer =>
  (response, asked) =>
    void response.end(answer(asked, part));

/** Makes the part when it is asked for first. */
function made(make: () => string): Answer {
  let part: string | undefined;
  return (response, asked) => whole((part ??= make()))(response, asked);
}

/** Sends the text for ever, as fast as the client reads. */
const endless =
  (text: string | Buffer): Answer =>
  (response) => {
    const send = (): void => {
      while (!response.destroyed && response.write(text));
      response.once('drain', send);
    };
    send();
  };

/** Sends the text at every tick. */
function tick(response: ServerResponse, send: () => void): void {
  send();
  const timer = setInterval(send, TICK_MS);
  response.on('close', () => clearInterval(timer));
}

/** The most values that are taken: each an object with a key of its own. */
const HEAVY = `,"x":[${Array.from({ length: 45_000 }, (_, at) => `{"k${String(at)}":1}`).join()}]`;

const ANSWERS: Readonly<Record<string, Answer>> = {
  good: (response, asked) => {
    if (asked.isWatch) response.flushHeaders();
    else whole('')(response, asked);
  },
  heavy: made(() => HEAVY),
  bomb: made(() => `,"x":${of('{}', 16.5 * MIB)}`),
  values: made(() => `,"x":${of('{}', 3 * MIB)}`),
  numbers: made(() => `,"x":${of('1', 8 * MIB)}`),
  deep: made(() => `,"x":${'['.repeat(MIB)}${']'.repeat(MIB)}`),
  long: endless('x'.repeat(64 * 1024)),
  spaces: endless(' '.repeat(64 * 1024)),
  silent: () => undefined,
  trickle: (response) => tick(response, () => response.write(' ')),
  trickledHeaders: ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket?.write('a: b\r\n'), TICK_MS);
    socket?.on('close', () => clearInterval(timer));
  },
  information: (response) => tick(response, () => response.writeProcessing()),
  headers: ({ socket }) => void socket?.write(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(MIB)}\r\n\r\n`),
  crumbs: ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const crumbs = '1\r\n \r\n'.repeat(10_000);
    const send = (): void => {
      while (socket?.destroyed === false && socket.write(crumbs));
      socket?.once('drain', send);
    };
    send();
  },
  text: (response) => void response.writeHead(500).end(status(500, LONG_TEXT)),
  refused: (response) => void response.writeHead(401).end('{"canary":"of another server"}'),
  redirect: (response) => void response.writeHead(302, { location: '/good' }).end(),
  upgrade: ({ socket }) =>
    void socket?.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: canary\r\n\r\n'),
  html: (response) => void response.end('<html>canary</html>'),
  number: (response) => void response.end('5'),
  null: (response) => void response.end('null'),
  empty: (response) => void response.end('{}'),
  dates: (response, asked) => void response.setHeader('date', 'canary').end(answer(asked, '')),
  broken: ({ socket }) => void socket?.write('canary\r\n\r\n'),
  reset: ({ socket }) => void socket?.destroy(),
  pages: (response, { isList }) =>
    void response.end(
      isList ? '{"metadata":{"resourceVersion":"7","continue":"more"},"items":[]}' : '{"canary":1}',
    ),
};

const server = createServer(workerData as KeyPair, (request, response) => {
  request.resume();
  const asked = askedBy(request);
  const way = ANSWERS[request.url?.split('/')[1] ?? ''];
  const isIdentity = asked.name === 'kube-system';
  response.setHeader('date', new Date().toUTCString());
  response.on('error', () => undefined);
  // Some show who they are first, so that they get more requests.
  if (isIdentity && request.url?.startsWith('/heavy/') === true) whole('')(response, asked);
  else way?.(response, asked);
});
server.on('clientError', () => undefined);
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
