import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { temporaryFolder } from '../controlplane/exit.ts';
import { podEnvironment } from '../in-pod.ts';
import { listen, type Listener } from './exchange.ts';
import { NotReady } from './function.ts';
import type { KnativeService } from './manifests.ts';
import { planOf, type Plan } from './plan.ts';
import { forward, refuse } from './proxy.ts';
import { Revision, type Reason, type Slot } from './revision.ts';

export interface ActivatorOptions {
  readonly services: readonly KnativeService[];
  /** The built file that Node runs for every one of them; the image, command and args of the manifest are not used. */
  readonly bundle: string;
  /** The path of a kubeconfig for a service account of the Service's namespace. */
  readonly kubeconfigFor: (serviceAccount: string) => string | Promise<string>;
  /** The process gets the kubeconfig's content as mounted files, as from the kubelet; left out: by KUBECONFIG. */
  readonly inPods?: boolean;
  /** Overrides the manifest's environment: NODE_COMPILE_CACHE, LOG_LEVEL. */
  readonly env?: Readonly<Record<string, string>>;
  /** Cluster DNS for the URLs in the environment; left out: no rewrite. */
  readonly rewrite?: (text: string) => string;
  /** How long a process may be idle; default: from the manifest's autoscaling annotations. */
  readonly idleMs?: number;
  /** How long a process may take to be ready; default one minute. */
  readonly startMs?: number;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
  readonly onTrace?: (trace: ActivatorTrace) => void;
  /** Called with every line of a process's output. */
  readonly onLog?: (line: LogLine) => void;
}

export interface LogLine {
  readonly service: string;
  readonly text: string;
}

/** `at`: milliseconds since 1970, when the request came or the change was seen. */
export type ActivatorTrace =
  | {
      readonly kind: 'request';
      readonly at: number;
      readonly service: string;
      readonly method: string;
      readonly path: string;
      /** Of the request's event, if any. */
      readonly eventType: string | undefined;
      readonly eventId: string | undefined;
      readonly start: 'cold' | 'warm' | 'failed';
      /** Time for which the request waited for a ready process and for its turn. */
      readonly heldMs: number;
      readonly ms: number;
      /** 0: the caller gave up before there was an answer. */
      readonly status: number;
    }
  | {
      readonly kind: 'started';
      readonly at: number;
      readonly service: string;
      readonly pid: number;
      readonly ms: number;
    }
  | {
      readonly kind: 'stopped';
      readonly at: number;
      readonly service: string;
      readonly pid: number;
      readonly why: Reason;
      readonly how: string;
    };

export interface Activator {
  /** Local URL of a Service; undefined: no such Service. */
  readonly url: (service: string) => string | undefined;
  /** The live processes. */
  readonly running: () => { service: string; pid: number }[];
  /** Kills the Service's process, for tests of failures; without a process it does nothing. */
  readonly kill: (service: string, signal: NodeJS.Signals) => void;
  /** Starts the processes that min-scale keeps. Call it when all addresses in their environment are known. */
  readonly startKept: () => Promise<void>;
  /** Ends every process. */
  readonly stop: () => Promise<void>;
}

const GRACE_MS = 10_000;
const START_MS = 60_000;

/**
 * A stand-in for Knative Serving: each Service is a port, and behind it at most one real process of the bundle, started
 * by the first request and stopped when it has been idle (with min-scale 1 or more: by `startKept`, and never).
 */
export async function startActivator(options: ActivatorOptions): Promise<Activator> {
  const plans = options.services.map((service) => planOf(service, options.idleMs));
  const logs = temporaryFolder('mtq-functions-');
  const revisions = await Promise.all(plans.map((plan) => openRevision(plan, options, logs.path)));
  const find = (name: string): RevisionPort | undefined =>
    revisions.find((revision) => revision.name === name);
  return {
    url: (service) => find(service)?.listener.url,
    running: () =>
      revisions.flatMap(({ name, revision: { pid } }) => (pid === undefined ? [] : [{ service: name, pid }])),
    kill: (service, signal) => find(service)?.revision.signal(signal),
    startKept: async () => {
      await Promise.all(revisions.filter(({ kept }) => kept).map(({ revision }) => revision.start()));
    },
    stop: async () => {
      await Promise.all(revisions.map(({ listener }) => listener.close()));
      await Promise.all(revisions.map(({ revision }) => revision.stop()));
      logs.remove();
    },
  };
}

interface RevisionPort {
  readonly name: string;
  /** min-scale: it always has a process. */
  readonly kept: boolean;
  readonly revision: Revision;
  readonly listener: Listener;
}

async function openRevision(plan: Plan, options: ActivatorOptions, logFolder: string): Promise<RevisionPort> {
  const { name, readinessPath, concurrency, idleMs, timeoutMs } = plan;
  const revision = new Revision({
    name,
    bundle: options.bundle,
    environment: () => environment(plan, options),
    readinessPath,
    startMs: options.startMs ?? START_MS,
    concurrency,
    idleMs,
    graceMs: options.graceMs ?? GRACE_MS,
    logFolder,
    onLine: (text) => options.onLog?.({ service: name, text }),
    onChange: (change) => options.onTrace?.({ ...change, at: Date.now(), service: name }),
  });
  const listener = await listen((request, answer) => void serve(request, answer));
  return { name, kept: plan.minScale > 0, revision, listener };

  async function serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const at = Date.now();
    const began = performance.now();
    const slot = await revision.enter().catch((error: unknown) => error);
    const heldMs = performance.now() - began;
    const admitted = isSlot(slot);
    let status = 503;
    if (admitted) {
      status = await forward(request, answer, { port: slot.process.port, timeoutMs });
      slot.resume();
    } else {
      refuse(answer, status, slot instanceof NotReady ? slot.message : describeError(slot));
    }
    options.onTrace?.({
      kind: 'request',
      at,
      service: name,
      method: request.method ?? '',
      path: request.url ?? '',
      eventType: textOf(request.headers['ce-type']),
      eventId: textOf(request.headers['ce-id']),
      start: admitted ? (slot.cold ? 'cold' : 'warm') : 'failed',
      heldMs,
      ms: performance.now() - began,
      status,
    });
  }
}

async function environment(plan: Plan, options: ActivatorOptions): Promise<NodeJS.ProcessEnv> {
  const kubeconfig = await options.kubeconfigFor(plan.serviceAccount);
  return {
    PATH: process.env.PATH,
    ...mapValues(plan.env, options.rewrite ?? ((text) => text)),
    ...options.env,
    ...(options.inPods === true ? podEnvironment(kubeconfig) : { KUBECONFIG: kubeconfig }),
    K_SERVICE: plan.name,
    K_CONFIGURATION: plan.name,
    K_REVISION: `${plan.name}-00001`,
  };
}

const isSlot = (value: unknown): value is Slot => !(value instanceof Error);

const textOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;

const mapValues = (
  record: Record<string, string>,
  change: (text: string) => string,
): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
