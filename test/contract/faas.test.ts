import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT, SOURCE_EVENT } from '../../functions/domain/names.ts';
import type { StepTrigger } from '../../functions/host/step.ts';
import { STEPS } from '../../functions/steps.ts';
import { bundle } from '../../hack/build.ts';
import { freePort } from '../cluster/controlplane/ports.ts';
import { kubeconfigOf, startServingIn } from '../support/environment/serving-process.ts';

/** Knative's runtime for Node functions, as `func` starts it. In its own process, because its import sets signal handlers. */
const RUNTIME = createRequire(import.meta.url).resolve('faas-js-runtime/bin/cli.js');

const isOurs = ({ type }: StepTrigger): boolean => type.startsWith('io.kubevirt.mtq.');

const headersOf = ({ type, kind, source = '/test' }: StepTrigger): Record<string, string> => ({
  'ce-specversion': '1.0',
  'ce-id': 'id-1',
  'ce-source': source,
  'ce-type': type,
  ...(Object.values<string>(SOURCE_EVENT).includes(type) ? { 'ce-namespace': 'tenant' } : {}),
  ...(kind === undefined ? {} : { 'ce-kind': kind }),
});

/** Data that every step can read. */
const OWN_DATA = { namespace: 'tenant', token: 'token-1', kind: 'Upgrade' };

const dataOf = ({ kind }: StepTrigger): unknown =>
  kind === undefined ? OWN_DATA : { kind, metadata: { name: 'x' } };

let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mtq-faas-'));
  const entries = { function: 'functions/index.ts', replying: 'test/contract/replying-function.ts' };
  await bundle(entries, join(folder, 'dist'));
  kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(await freePort()));
});

afterAll(() => rm(folder, { recursive: true }));

describe.each(STEPS)('$name under faas-js-runtime', ({ name, triggers }) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await start('function', { STEP: name, KUBECONFIG: kubeconfig, K_SINK: 'http://127.0.0.1:9/' });
  });
  afterAll(() => runtime.stop());

  test.each(['/health/liveness', '/health/readiness'])('%s', async (path) => {
    const { status, body } = await runtime.get(path);
    expect([status, body]).toEqual([200, 'ok']);
  });

  test('answers one of its own events so that the Broker retries, while the API server is unreachable', async () => {
    for (const trigger of triggers) {
      const { status, body } = await runtime.post(headersOf(trigger), dataOf(trigger));
      expect([trigger, status, body]).toEqual([trigger, 503, '']);
    }
  });

  // The function reads the data of our own events only; one of them triggers every step.
  const ours = triggers.find(isOurs) as StepTrigger;
  const foreign = STEPS.flatMap((step) => step.triggers).find(
    (trigger) => isOurs(trigger) && !triggers.some(({ type }) => type === trigger.type),
  ) as StepTrigger;

  test.each<[string, Record<string, string>, unknown]>([
    ['an event of another step', headersOf(foreign), dataOf(foreign)],
    ['an event of an unknown type', headersOf({ type: 'com.example.order' }), {}],
    ['data without a namespace', headersOf(ours), {}],
    ['data that is no JSON object', headersOf(ours), 'tenant'],
    ['no CloudEvent', {}, { ...ours, id: 'id-1', namespace: 'tenant', data: dataOf(ours) }],
    ['no CloudEvent, and nothing at all', {}, null],
  ])('%s: dropped', async (_, headers, data) => {
    const { status } = await runtime.post(headers, data);
    expect(status).toBe(400);
  });
});

test('a reply is a CloudEvent in binary form, which the Broker accepts', async () => {
  const runtime = await start('replying', {});
  try {
    const trigger = { type: EVENT.migrationFeasible };
    const { status, headers, body } = await runtime.post(headersOf(trigger), { namespace: 'tenant' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'ce-specversion': '1.0',
      'ce-type': EVENT.namespaceLocked,
      'ce-source': '/mtq/lock',
      'ce-subject': 'tenant',
      'ce-id': 'lock/namespace.locked/tenant/token-1',
      'ce-mtqtoken': 'token-1',
    });
    expect(headers['content-type']).toMatch(/^application\/json(;|$)/);
    expect(JSON.parse(body)).toEqual({
      namespace: 'tenant',
      token: 'token-1',
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
    });
  } finally {
    await runtime.stop();
  }
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Runtime {
  get(path: string): Promise<Answer>;
  post(headers: Record<string, string>, data: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

async function start(bundled: string, env: Record<string, string>): Promise<Runtime> {
  const port = await freePort();
  const child = await startServingIn(folder, {
    name: `faas-${bundled}`,
    args: [RUNTIME, join(folder, 'dist', `${bundled}.mjs`)],
    env: { FUNC_PORT: String(port), ...env },
    port,
  });
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    get: async (path) => answerOf(await fetch(url + path)),
    post: async (headers, data) => {
      const body = JSON.stringify(data);
      const all = { 'content-type': 'application/json', ...headers };
      return answerOf(await fetch(url, { method: 'POST', headers: all, body }));
    },
    stop: () => child.stop(),
  };
}

const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  headers: Object.fromEntries(response.headers),
  body: await response.text(),
});
