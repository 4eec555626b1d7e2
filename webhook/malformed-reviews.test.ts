import { createServer, Agent, request as send, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomInt } from 'node:crypto';
import { FairTurns } from '../functions/server/fair-turns.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ANNOTATION, KUBEVIRT, LABEL, OUR_USERS } from '../functions/domain/names.ts';
import type { Namespace } from '../functions/domain/objects.ts';
import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../functions/kubernetes/errors.ts';
import { aNamespace } from '../test/support/builders/namespace.ts';
import { aMalformedBody, type Malformed } from '../test/support/builders/malformed-reviews.ts';
import {
  aFound,
  aReview,
  CONTROLLER,
  LOCK,
  OF_LOCK,
  OF_VMI,
  TENANT,
  type Found,
} from '../test/support/builders/reviews.ts';
import { newReview } from './dispatch-review.ts';
import { reviewApp } from './admission/review-app.ts';

/**
 * Posts random bodies to /review. The guard never allows a body that is malformed by construction, in any namespace and for any
 * user. It allows a well-formed one exactly where the rules allow it: this file states the rules a second time, on the plain
 * document. Replay: FUZZ_SEED=<seed printed> npm run jest …
 */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const RUNS = { malformed: 2_000, whole: 2_000 };

let server: Server;
const agent = new Agent({ keepAlive: true });
let found: Found = 'held';

const settings = { KUBEVIRT_NAMESPACE: 'kubevirt', KUBEVIRT_CONTROLLER: 'kubevirt-controller' };

beforeAll(async () => {
  process.stdout.write(`malformed reviews: FUZZ_SEED=${SEED}\n`);
  const cluster = { get: (_: unknown, { name }: { name: string }) => read(name) } as unknown as Cluster;
  const review = newReview(cluster, settings, () => ({ kind: 'absent' }));
  server = createServer(reviewApp({ turns: new FairTurns(), review, log: () => undefined }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  agent.destroy();
  server.close();
});

/** The API server's answer to this GET. */
async function read(name: string): Promise<{ object: unknown; date: Date }> {
  await Promise.resolve();
  const date = new Date(0);
  // An empty name gives the path of the list.
  if (name === '')
    return { object: { kind: 'NamespaceList', metadata: { resourceVersion: '1' }, items: [] }, date };
  if (found === 'fails') throw new Unreachable('no answer');
  if (found === 'gone' || name !== TENANT) throw new ApiError('GET', { code: 404, reason: 'NotFound' }, date);
  return { object: namespaceThat(found), date };
}

function namespaceThat(is: Exclude<Found, 'gone' | 'fails'>): Namespace {
  const labels = { [LABEL.locked]: 'true' };
  const held = { labels, annotations: { [ANNOTATION.lock]: JSON.stringify(LOCK) } };
  const metadata = {
    free: {},
    held,
    malformed: { labels, annotations: { [ANNOTATION.lock]: '{"v":1}' } },
    'label only': { labels },
    terminating: { ...held, deletionTimestamp: '2026-11-21T12:00:00Z' },
  }[is];
  const namespace = aNamespace();
  return { ...namespace, metadata: { ...namespace.metadata, name: TENANT, ...metadata } };
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function post(body: Buffer): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const headers = { 'content-length': body.length, 'content-type': 'application/json' };
  const request = send({ host: '127.0.0.1', port, method: 'POST', path: '/review', agent, headers });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
}

type Document = Record<string, unknown>;

/** The value at this path; follows own properties only. */
function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Document)[key]
        : undefined,
    value,
  );
}

/** Whether the rules let this review pass (docs/architecture.md#webhooks-and-policies), from the document as it was sent. */
function mayBeAllowed(document: unknown): boolean {
  const request = at(document, 'request');
  const isAboutKeys = at(request, 'resource', 'resource') === 'namespaces';
  return isAboutKeys ? isOurs(request) || sameNamespaceKeys(request) : mayBeAllowedByLock(request);
}

function mayBeAllowedByLock(request: unknown): boolean {
  if (at(request, 'namespace') !== TENANT || ['gone', 'fails'].includes(found)) return false;
  if (found === 'free') return true;
  const operation = at(request, 'operation');
  const resource = at(request, 'resource', 'resource');
  if (resource === 'resourcequotas')
    return (
      operation === 'DELETE' || (operation === 'UPDATE' && (isOurs(request) || same(QUOTA_KEYS, request)))
    );
  return [
    [resource, operation, at(request, 'subResource') ?? ''].join() === 'pods,CREATE,',
    at(request, 'userInfo', 'username') === CONTROLLER,
    at(request, 'object', 'metadata', 'labels', KUBEVIRT.migrationJobUID) === OF_LOCK,
    at(request, 'object', 'metadata', 'labels', KUBEVIRT.createdBy) === OF_VMI,
    ['held', 'terminating'].includes(found),
  ].every(Boolean);
}

const isOurs = (request: unknown): boolean =>
  (OUR_USERS as readonly unknown[]).includes(at(request, 'userInfo', 'username'));

const NAMESPACE_KEYS = [
  ['annotations', ANNOTATION.lock],
  ['annotations', ANNOTATION.token],
  ['annotations', ANNOTATION.migrations],
  ['annotations', ANNOTATION.lastAttempt],
  ['labels', LABEL.locked],
];
const QUOTA_KEYS = [
  ['annotations', ANNOTATION.grant],
  ['annotations', ANNOTATION.migrations],
  ['annotations', ANNOTATION.lastRelease],
  ['labels', LABEL.raised],
];

const same = (keys: readonly string[][], request: unknown): boolean =>
  keys.every((key) => {
    const [now, before] = ['object', 'oldObject'].map((which) => at(request, which, 'metadata', ...key));
    return now === before;
  });

const isLocked = (request: unknown): boolean =>
  at(request, 'oldObject', 'metadata', 'annotations', ANNOTATION.lock) !== undefined ||
  at(request, 'oldObject', 'metadata', 'labels', LABEL.locked) !== undefined;

/** Every user may remove break-glass, and the other keys where there is no lock; a new namespace may have a last attempt. */
const sameNamespaceKeys = (request: unknown): boolean =>
  same(
    NAMESPACE_KEYS.filter(
      ([map = '', key = '']) =>
        (at(request, 'oldObject') !== null || key !== ANNOTATION.lastAttempt) &&
        (isLocked(request) || at(request, 'object', 'metadata', map, key) !== undefined),
    ),
    request,
  ) &&
  (at(request, 'object', 'metadata', 'annotations', ANNOTATION.breakGlass) === undefined ||
    same([['annotations', ANNOTATION.breakGlass]], request));

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** Throws unless the answer is a 4xx with a line, or a decision about this request. */
function allowedBy({ status, body }: Answer): boolean {
  if (status >= 400 && status < 500) {
    expect(body).toMatch(/^[^\n]+\n$/);
    return false;
  }
  expect(status).toBe(200);
  const response = at(parsed(body), 'response') as {
    uid: string;
    allowed: boolean;
    status?: { code: number };
  };
  expect(response.uid).not.toBe('');
  if (!response.allowed) expect(response.status?.code).toBeGreaterThanOrEqual(400);
  return response.allowed;
}

/** Parallel requests, each on its own connection: the test takes a fifth of the time. */
const BATCH = 10;
const inBatches = { minLength: BATCH, maxLength: BATCH } as const;

test('the guard answers each of 2,000 malformed reviews with a 4xx or a refusal', async () => {
  const counts: Record<string, number> = {};
  const check = async ({ how, body }: Malformed): Promise<void> => {
    counts[how] = (counts[how] ?? 0) + 1;
    expect([how, allowedBy(await post(Buffer.from(body, 'latin1')))]).toEqual([how, false]);
  };
  await fc.assert(
    fc.asyncProperty(aFound, fc.array(aMalformedBody, inBatches), async (state, batch) => {
      found = state;
      await Promise.all(batch.map(check));
    }),
    { seed: SEED, numRuns: RUNS.malformed / BATCH },
  );
  process.stdout.write(`malformed reviews: ${JSON.stringify(counts)}\n`);
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(RUNS.malformed);
});

test('the guard allows exactly those of 2,000 well-formed reviews that the rules allow', async () => {
  const counts = { allowed: 0, refused: 0 };
  const check = async (review: unknown): Promise<void> => {
    const body = JSON.stringify(review);
    const answer = await post(Buffer.from(body));
    expect(answer.status).toBe(200);
    const allowed = allowedBy(answer);
    counts[allowed ? 'allowed' : 'refused'] += 1;
    expect(allowed).toBe(mayBeAllowed(parsed(body)));
  };
  await fc.assert(
    fc.asyncProperty(aFound, fc.array(aReview, inBatches), async (state, batch) => {
      found = state;
      await Promise.all(batch.map(check));
    }),
    { seed: SEED, numRuns: RUNS.whole / BATCH },
  );
  process.stdout.write(`whole reviews: ${JSON.stringify(counts)}\n`);
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(100);
});
