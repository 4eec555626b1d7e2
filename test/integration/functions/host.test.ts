import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT } from '../../../functions/domain/names.ts';
import type { StepTrigger } from '../../../functions/host/step.ts';
import { STEPS } from '../../../functions/steps.ts';
import { bundle } from '../../../hack/build.ts';
import { freePort } from '../../cluster/controlplane/ports.ts';
import { anEvent, send } from '../../support/environment/function-host.ts';
import { kubeconfigOf, startServingIn, type Serving } from '../../support/environment/serving-process.ts';

/** The image's programs as real processes; the configured API server is unreachable or silent. */
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mtq-host-'));
  await bundle(undefined, join(folder, 'dist'));
  kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(await freePort()));
  await writeFile(join(folder, 'no-kubeconfig'), '{"kind":"Config"}');
});

afterAll(() => rm(folder, { recursive: true }));

const SINK = 'http://127.0.0.1:9/';

describe('with a wrong configuration a process does not start (F8)', () => {
  type Environment = Readonly<Record<string, string>>;
  const tell = (max: number, min: number, is: string): string =>
    `must be a whole number from ${String(min)} to ${String(max)}, is '${is}'`;

  test.each<[string, Environment, string]>([
    ['STEP is none', { STEP: 'nope' }, 'STEP: Invalid option'],
    ['PORT is too large', { PORT: '65536' }, `PORT: ${tell(65_535, 0, '65536')}`],
    ['K_SINK is missing for all steps', {}, 'K_SINK: is missing'],
    ['KUBECONFIG is no file', { STEP: 'lock', KUBECONFIG: '/does/not/exist' }, 'KUBECONFIG (ENOENT'],
    ['KUBECONFIG has no cluster', { STEP: 'lock', KUBECONFIG: 'no-kubeconfig' }, 'KUBECONFIG ('],
    ['LOCK_SECONDS is too large', { K_SINK: SINK, LOCK_SECONDS: '61' }, `LOCK_SECONDS: ${tell(60, 5, '61')}`],
  ])('functions: %s', async (_, env, why) => {
    expect(await startOf('functions', env)).toEqual({ code: 1, stderr: expect.stringContaining(why) });
  });

  test.each<[string, Environment, string]>([
    ['K_SINK is missing', {}, 'K_SINK: is missing'],
    ['TLS_PORT is no number', { K_SINK: SINK, TLS_PORT: 'https' }, `TLS_PORT: ${tell(65_535, 0, 'https')}`],
    ['KUBECONFIG is no file', { K_SINK: SINK, KUBECONFIG: '/does/not/exist' }, 'KUBECONFIG (ENOENT'],
  ])('guard: %s', async (_, env, why) => {
    expect(await startOf('guard', env)).toEqual({ code: 1, stderr: expect.stringContaining(why) });
  });

  test('no API server configured: KUBECONFIG', async () => {
    const without = { STEP: 'lock', KUBECONFIG: undefined };
    expect(await startOf('functions', without)).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^cannot start: NoApiServer: KUBECONFIG \(it is not set, /),
    });
  });

  test('reports all errors at once', async () => {
    const { stderr } = await startOf('functions', { STEP: 'nope', PORT: 'http', LOG_LEVEL: 'loud' });
    for (const name of ['STEP', 'PORT', 'LOG_LEVEL']) expect(stderr).toContain(`${name}: `);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});

test.each(['functions', 'guard'] as const)('%s loads no undici, half of a cold start', async (process_) => {
  const print = "process.on('exit', () => process.stderr.write(process.moduleLoadList.join()))";
  const load = `--import=data:text/javascript,${encodeURIComponent(print)}`;
  const { stderr } = await startOf(process_, { NODE_OPTIONS: load });
  expect(stderr).toContain(',NativeModule http,');
  expect(stderr).not.toContain('undici');
});

/** Whether a trigger is one of our own event types, from any sender. */
const isOurs = ({ type, source }: StepTrigger): boolean =>
  type.startsWith('io.kubevirt') && source === undefined;

describe('which steps a process serves', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ['without STEP: all of them', { K_SINK: SINK }, STEPS.map(({ name }) => name)],
    ...STEPS.map(({ name }): [string, Readonly<Record<string, string>>, readonly string[]] => [
      `STEP=${name}`,
      ['unlock', 'progress'].includes(name) ? { STEP: name, K_SINK: SINK } : { STEP: name },
      [name],
    ]),
  ])('%s', async (_, env, served) => {
    const { process: running, port } = await serve(env);
    try {
      const types = STEPS.map(({ name, triggers }) => [name, triggers.findLast(isOurs)?.type ?? ''] as const);
      const answers = await Promise.all(
        types.map(async ([name, type]) => {
          const data = { namespace: 'tenant', token: 'token-1', kind: 'Upgrade' };
          return [name, (await send(port, anEvent({ 'ce-type': type }, data))).status] as const;
        }),
      );
      // 503: the step runs, and the API server is unreachable. 400: the process does not serve the step.
      expect(answers).toEqual(types.map(([name]) => [name, served.includes(name) ? 503 : 400]));
      expect(linesOf(running)[0]).toMatchObject({ level: 'info', message: 'serving', port, steps: served });
      expect(running.printed()).not.toContain('the-secret-token');
    } finally {
      await running.stop();
    }
  });
});

describe('SIGTERM', () => {
  let silent: Server;
  let asked: Promise<Socket>;
  let silentConfig: string;

  beforeAll(async () => {
    const first = Promise.withResolvers<Socket>();
    asked = first.promise;
    silent = createServer((socket) => {
      socket.on('error', () => undefined);
      first.resolve(socket);
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    silentConfig = join(folder, 'silent-kubeconfig');
    await writeFile(silentConfig, kubeconfigOf((silent.address() as AddressInfo).port));
  });
  afterAll(() => void silent.close());

  test('answers requests in flight, accepts no new ones, and exits with success', async () => {
    const { process: running, port } = await serve({ STEP: 'lower', KUBECONFIG: silentConfig });
    const ended = running.ended;
    const answer = send(port, anEvent({ 'ce-type': EVENT.lockExpired }));
    const apiServer = await asked;

    running.signal('SIGTERM');
    await untilRefused(port);
    apiServer.destroy();

    expect(await answer).toMatchObject({ status: 503, body: '', headers: { connection: 'close' } });
    expect(await ended).toBe('exit code 0');
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s with no request in flight ends the process at once',
    async (signal) => {
      const { process: running } = await serve({ STEP: 'lock' });
      running.signal(signal);
      expect(await running.ended).toBe('exit code 0');
    },
  );
});

/** The exit of a process that must not start. Adds a kubeconfig to this environment unless the caller sets one. */
async function startOf(
  process_: 'functions' | 'guard',
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ code: unknown; stderr: string }> {
  const all = { PATH: process.env['PATH'], PORT: '0', TLS_PORT: '0', KUBECONFIG: kubeconfig, ...env };
  const file = join(folder, 'dist', `${process_}.mjs`);
  return new Promise((resolve) => {
    execFile(process.execPath, [file], { env: all, cwd: folder, timeout: 30_000 }, (error, _, stderr) =>
      resolve({ code: error?.code ?? error?.signal ?? 0, stderr }),
    );
  });
}

async function serve(env: Readonly<Record<string, string>>): Promise<{ process: Serving; port: number }> {
  const port = await freePort();
  const started = await startServingIn(folder, {
    name: `functions-${env['STEP'] ?? 'all'}`,
    args: [join(folder, 'dist/functions.mjs')],
    env: { KUBECONFIG: kubeconfig, PORT: String(port), ...env },
    port,
  });
  return { process: started, port };
}

const linesOf = (running: Serving): unknown[] =>
  running
    .printed()
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

/** Resolves when the port no longer accepts connections: the process has seen its signal. */
async function untilRefused(port: number): Promise<void> {
  for (;;) {
    const refused = await send(port, { method: 'GET', path: '/health/liveness' }).then(
      () => false,
      (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
    );
    if (refused) return;
  }
}
