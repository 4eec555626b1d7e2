import type { OurEvent } from '../../functions/domain/events.ts';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { postEvent } from '../../functions/eventing/post.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { startLocalCluster, type LocalCluster, type LocalClusterOptions } from '../cluster/cluster.ts';
import type { Hop } from '../cluster/eventing/broker.ts';
import { binaryHeaders, type CloudEvent } from '../cluster/eventing/cloudevent.ts';
import { freshControlPlane } from './control-plane.ts';
import { Recorded } from './eventually.ts';
import { History } from './history.ts';
import { noteRightsUsed } from './rights-used.ts';
import { ADMISSION_MODE } from './admission-mode.ts';

/** A line of a function's log (functions/runtime/log.ts). */
export interface Line {
  readonly service: string;
  readonly time?: string;
  readonly level: string;
  readonly message: string;
  readonly step?: string;
  readonly event?: string;
  readonly eventId?: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly reason?: string;
  readonly reply?: string;
  readonly verdict?: string;
}

/** One installation on this machine, and all that its functions said and its Broker did. */
export interface TestEnvironment {
  readonly cluster: LocalCluster;
  readonly admin: Cluster;
  readonly lines: Recorded<Line>;
  readonly hops: Recorded<Hop>;
  /** Of a namespace, until the lab is stopped. */
  readonly watch: (namespace: string) => Promise<History>;
  /** What this namespace's events are to wake waits in the Broker, until the result is called. */
  readonly hold: (namespace: string, ...triggers: readonly string[]) => () => void;
  /** Posts an event of ours to the Broker, as anybody in the cluster may; resolves when all it led to is delivered. */
  readonly forge: (event: OurEvent) => Promise<void>;
  /** Posts an event that the Broker has delivered before, as it was. */
  readonly repeat: (event: CloudEvent) => Promise<void>;
  /** An event of the ApiServerSource, about an object that need not be there. */
  readonly forgeSource: (about: SourceEvent) => Promise<void>;
  /** Is done before everything is stopped, whether tests failed or not. */
  readonly atEnd: (end: () => Promise<void>) => void;
  readonly stop: () => Promise<void>;
}

export interface SourceEvent {
  readonly type: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object in it. */
  readonly status?: object;
}

/** A short migration, no wait for caches that one API server does not have, and every line of the log. */
const DEFAULTS = { timings: { migrationMs: 200 }, env: { SETTLE_MS: '0', LOG_LEVEL: 'debug' } };

/** Where no `controlPlane` is asked for, on the worker's own (kept.ts): for a test that leaves its processes running. */
export async function startTestEnvironment(options: LocalClusterOptions = {}): Promise<TestEnvironment> {
  const lines = new Recorded<Line>((line) => JSON.stringify(line));
  const hops = new Recorded<Hop>((hop) => JSON.stringify(hop));
  const cluster = await startLocalCluster({
    admissionMode: ADMISSION_MODE,
    controlPlane: options.controlPlane ?? (await freshControlPlane()),
    ...DEFAULTS,
    ...options,
    env: { ...DEFAULTS.env, ...options.env },
    onHop: (hop) => hops.add(hop),
    onLog: ({ service, text }) => lines.add({ service, ...parse(text) }),
  });
  const { broker } = cluster.eventing;
  const sink = cluster.eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq');
  const ends: (() => Promise<void>)[] = [];
  return {
    cluster,
    admin: cluster.admin,
    lines,
    hops,
    watch: async (namespace) => {
      const history = await History.start(cluster.admin, namespace);
      ends.push(() => history.stop());
      return history;
    },
    hold: (namespace, ...triggers) =>
      broker.hold(({ event, trigger }) => triggers.includes(trigger) && namespaceOf(event) === namespace),
    forge: async (event) => {
      await postEvent({ url: sink }, event);
      await broker.idle();
    },
    repeat: async (event) => {
      await post(sink, event);
      await broker.idle();
    },
    forgeSource: async (about) => {
      await postSourceEvent(sink, about);
      await broker.idle();
    },
    atEnd: (end) => {
      ends.push(end);
    },
    stop: async () => {
      await Promise.all(ends.map((end) => end()));
      // What is judged is the run's own way to install: with a component, or another wall, other rights are granted.
      if (options.components === undefined && (options.admissionMode ?? ADMISSION_MODE) === ADMISSION_MODE)
        await noteRightsUsed(cluster.controlPlane);
      await cluster.stop();
    },
  };
}

/** The tenant's namespace that an event is about; '' when it is about none. */
export function namespaceOf({ attributes: { namespace, subject = '' } }: CloudEvent): string {
  return namespace ?? (subject.startsWith('/') ? '' : subject);
}

function parse(text: string): Omit<Line, 'service'> {
  try {
    return JSON.parse(text) as Omit<Line, 'service'>;
  } catch {
    return { level: 'error', message: text };
  }
}

let forged = 0;

function postSourceEvent(sink: string, { type, ...about }: SourceEvent): Promise<void> {
  const { apiVersion, kind, namespace, name, status } = about;
  forged += 1;
  const attributes = {
    specversion: '1.0',
    id: `forged-${forged}`,
    source: 'https://somewhere-else',
    type,
    subject: `/apis/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`,
    apiversion: apiVersion,
    kind,
    namespace,
    name,
  };
  const object = { apiVersion, kind, metadata: { namespace, name }, status };
  return post(sink, {
    attributes,
    contentType: 'application/json',
    data: Buffer.from(JSON.stringify(object)),
  });
}

async function post(sink: string, event: CloudEvent): Promise<void> {
  const headers = binaryHeaders(event).map(([name, value]): [string, string] => [name, value]);
  const { status } = await fetch(sink, { method: 'POST', headers, body: event.data });
  if (status >= 300) throw new Error(`the Broker answered ${status}`);
}
