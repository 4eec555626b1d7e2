import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startActivator, type Activator, type ActivatorOptions, type ActivatorTrace } from './activator.ts';
import { parseService } from './manifests.ts';

const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

const BUNDLE = fileURLToPath(new URL('testfunction.mjs', import.meta.url));

interface MakeService {
  readonly env?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly concurrency?: number;
  readonly timeoutSeconds?: number;
  readonly container?: Record<string, unknown>;
}

const makeService = (name: string, make: MakeService = {}) =>
  parseService({
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name, namespace: 'mtq-system' },
    spec: {
      template: {
        metadata: { annotations: make.annotations ?? {} },
        spec: {
          serviceAccountName: `mtq-${name}`,
          containerConcurrency: make.concurrency ?? 0,
          timeoutSeconds: make.timeoutSeconds ?? 60,
          containers: [
            {
              image: 'mtq',
              env: Object.entries({ STEP: name, ...make.env }).map(([key, value]) => ({ name: key, value })),
              ...make.container,
            },
          ],
        },
      },
    },
  });

interface Harness extends Activator {
  readonly traces: ActivatorTrace[];
  readonly lines: string[];
  /** Resolves with the first matching trace. */
  readonly seen: (kind: ActivatorTrace['kind'], count?: number) => Promise<void>;
  readonly base: string;
}

async function harness(service: MakeService = {}, options: Partial<ActivatorOptions> = {}): Promise<Harness> {
  const traces: ActivatorTrace[] = [];
  const lines: string[] = [];
  const waiting: { enough: () => boolean; resolve: () => void }[] = [];
  const activator = await startActivator({
    services: [makeService('lock', service)],
    bundle: BUNDLE,
    kubeconfigFor: (serviceAccount) => `/kubeconfigs/${serviceAccount}`,
    idleMs: 600_000,
    onTrace: (trace) => {
      traces.push(trace);
      waiting.filter(({ enough }) => enough()).forEach(({ resolve }) => resolve());
    },
    onLog: ({ text }) => lines.push(text),
    ...options,
  });
  ending.push(() => activator.stop());
  const seen = async (kind: ActivatorTrace['kind'], count = 1): Promise<void> => {
    const enough = (): boolean => traces.filter((trace) => trace.kind === kind).length >= count;
    if (!enough()) await new Promise<void>((resolve) => waiting.push({ enough, resolve }));
  };
  return { ...activator, traces, lines, seen, base: activator.url('lock') ?? '' };
}

interface Seen {
  readonly pid: number;
  readonly questions: number;
  readonly maxBusy: number;
  readonly url: string;
  readonly method: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly env: Record<string, string>;
}

const ask = async (url: string, init?: RequestInit): Promise<Seen> =>
  (await (await fetch(url, init)).json()) as Seen;

const starts = (traces: readonly ActivatorTrace[]): string[] =>
  traces.flatMap((trace) => (trace.kind === 'request' ? [trace.start] : []));

describe('the first request starts a process, and the activator', () => {
  test('holds the request until the process is ready, and sends the next one to the same process', async () => {
    const { base, traces, running } = await harness({ env: { READY_AFTER: '3' } });
    expect(running()).toEqual([]);
    const first = await ask(base);
    const second = await ask(base);
    expect(first.questions).toBe(3);
    expect(second.pid).toBe(first.pid);
    expect(running()).toEqual([{ service: 'lock', pid: first.pid }]);
    expect(starts(traces)).toEqual(['cold', 'warm']);
  });

  test('starts one process for several first requests', async () => {
    const { base, traces } = await harness();
    const answers = await Promise.all([ask(base), ask(base), ask(base)]);
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
    expect(starts(traces)[0]).toBe('cold');
  });

  test('forwards request and answer unchanged', async () => {
    const { base, traces, seen } = await harness();
    const answer = await fetch(`${base}/a/b?c=d`, {
      method: 'POST',
      headers: { 'Ce-Type': 'x', 'Ce-Id': '17', 'Content-Type': 'application/json' },
      body: '{"a":"ü"}',
    });
    const got = (await answer.json()) as Seen;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-step')).toBe('lock');
    expect(got).toMatchObject({ url: '/a/b?c=d', method: 'POST', body: '{"a":"ü"}' });
    expect(got.rawHeaders.join(' ').toLowerCase()).toContain('ce-id 17');
    await seen('request');
    expect(traces.find(({ kind }) => kind === 'request')).toMatchObject({
      ...{ service: 'lock', method: 'POST', path: '/a/b?c=d', status: 201 },
      ...{ eventType: 'x', eventId: '17' },
    });
  });

  test('gives it the manifest’s environment with local addresses, the options’ one, and nothing of this process', async () => {
    const { base } = await harness(
      {
        env: { K_SINK: 'http://broker' },
        container: {
          env: [
            { name: 'K_SINK', value: 'http://broker' },
            { name: 'NS', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
          ],
        },
      },
      { rewrite: (text) => text.replace('broker', '127.0.0.1:1'), env: { LOG_LEVEL: 'debug' } },
    );
    const { env } = await ask(base);
    const { PORT, PATH, ...rest } = env;
    expect(rest).toEqual({
      ...{ K_SINK: 'http://127.0.0.1:1', NS: 'mtq-system', LOG_LEVEL: 'debug' },
      ...{ KUBECONFIG: '/kubeconfigs/mtq-lock' },
      ...{ K_SERVICE: 'lock', K_CONFIGURATION: 'lock', K_REVISION: 'lock-00001' },
    });
    expect(Number(PORT)).toBeGreaterThan(0);
    expect(PATH).toBe(process.env.PATH);
  });

  test('reports its output line by line', async () => {
    const { base, lines, stop } = await harness();
    await ask(`${base}/one`);
    await stop();
    expect(lines).toEqual(['{"msg":"request","url":"/one"}', 'SIGTERM']);
  });

  test('answers 503 with the end of its log when it ends at its start, and retries at the next request', async () => {
    const { base, traces, running, seen } = await harness({ env: { BROKEN: 'exit' } });
    for (const count of [1, 2]) {
      const answer = await fetch(base);
      expect(answer.status).toBe(503);
      expect(await answer.text()).toMatch(
        /lock ended before it was ready \(exit code 1\)[^]*K_SINK is missing/,
      );
      await seen('request', count);
    }
    expect(starts(traces)).toEqual(['failed', 'failed']);
    expect(running()).toEqual([]);
  });

  test('answers 503 when it never gets ready', async () => {
    const { base, running } = await harness({ env: { READY_AFTER: '1000000' } }, { startMs: 300 });
    const answer = await fetch(base);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(/was not ready after 300 ms/);
    expect(running()).toEqual([]);
  });
});

describe('a process ends', () => {
  test('when it was idle, and the next request starts a new one', async () => {
    const { base, traces, seen, running } = await harness({}, { idleMs: 20 });
    const first = await ask(base);
    await seen('stopped');
    expect(running()).toEqual([]);
    const second = await ask(base);
    expect(second.pid).not.toBe(first.pid);
    expect(traces.find(({ kind }) => kind === 'stopped')).toMatchObject({ why: 'idle', how: 'exit code 0' });
    expect(starts(traces)).toEqual(['cold', 'cold']);
  });

  test('not while it handles a request', async () => {
    const { base, traces, seen } = await harness({}, { idleMs: 1 });
    const over = new AbortController();
    const hanging = fetch(`${base}/hang`, { signal: over.signal }).catch(() => 'given up');
    await seen('started');
    // The hanging request keeps the process alive while these come and go.
    for (let round = 0; round < 5; round += 1) await ask(base);
    expect(traces.filter(({ kind }) => kind === 'stopped')).toEqual([]);
    over.abort();
    expect(await hanging).toBe('given up');
    await seen('stopped');
  });

  test('by SIGKILL when SIGTERM does not end it', async () => {
    const { base, traces, seen } = await harness({ env: { STUBBORN: '1' } }, { idleMs: 1, graceMs: 50 });
    await ask(base);
    await seen('stopped');
    expect(traces.find(({ kind }) => kind === 'stopped')).toMatchObject({
      how: 'signal SIGKILL',
      why: 'idle',
    });
  });

  test('before a new one starts for a request that comes meanwhile', async () => {
    const { base, traces, lines } = await harness({ env: { STUBBORN: '1' } }, { idleMs: 1, graceMs: 300 });
    const first = await ask(base);
    while (!lines.includes('SIGTERM')) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await ask(base);
    expect(second.pid).not.toBe(first.pid);
    const lifecycle = traces.flatMap((trace) => (trace.kind === 'request' ? [] : [[trace.kind, trace.pid]]));
    expect(lifecycle.slice(0, 3)).toEqual([
      ['started', first.pid],
      ['stopped', first.pid],
      ['started', second.pid],
    ]);
  });

  test('its request, and not itself, when the caller gives up', async () => {
    const { base, lines, traces, seen } = await harness();
    await ask(base);
    const over = new AbortController();
    const hanging = fetch(`${base}/hang`, { signal: over.signal }).catch(() => 'given up');
    while (!lines.some((line) => line.includes('/hang')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    over.abort();
    expect(await hanging).toBe('given up');
    await seen('request', 2);
    expect(traces.at(-1)).toMatchObject({ kind: 'request', path: '/hang', status: 0 });
  });

  test('when it is killed, with 502 for its requests, and the next request starts a new one', async () => {
    const { base, traces, seen, kill, lines } = await harness();
    const { pid } = await ask(base);
    const hanging = fetch(`${base}/hang`);
    while (!lines.some((line) => line.includes('/hang')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    kill('lock', 'SIGKILL');
    expect((await hanging).status).toBe(502);
    await seen('stopped');
    expect(traces.find(({ kind }) => kind === 'stopped')).toMatchObject({
      pid,
      why: 'ended',
      how: 'signal SIGKILL',
    });
    expect((await ask(base)).pid).not.toBe(pid);
  });

  test('when the activator stops', async () => {
    const { base, running, stop } = await harness();
    await ask(base);
    await stop();
    expect(running()).toEqual([]);
    await expect(fetch(base)).rejects.toThrow();
  });
});

describe('the activator obeys the manifest', () => {
  test('containerConcurrency limits the parallel requests', async () => {
    const { base } = await harness({ concurrency: 1 });
    await Promise.all(Array.from({ length: 8 }, () => ask(base)));
    expect((await ask(base)).maxBusy).toBe(1);
  });

  test('timeoutSeconds leads to 504', async () => {
    const { base } = await harness({ timeoutSeconds: 1 });
    await ask(base);
    expect((await fetch(`${base}/hang`)).status).toBe(504);
  });

  test('min-scale 1 starts a process before the first request, and keeps it', async () => {
    const annotations = { 'autoscaling.knative.dev/min-scale': '1' };
    const { base, running, startKept, traces } = await harness({ annotations }, { idleMs: 1 });
    await startKept();
    expect(running()).toHaveLength(1);
    await ask(base);
    expect(starts(traces)).toEqual(['warm']);
  });

  test('an environment value from an unsupported source is an error at the start', async () => {
    const env = [{ name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
    await expect(harness({ container: { env } })).rejects.toThrow(/Service lock: the value of SECRET/);
  });
});
