import type { OurEvent } from '../../../functions/domain/events.ts';
import { EVENT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { postEvent } from '../../../functions/eventing/post.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { startLocalCluster, type LocalCluster, type LocalClusterOptions } from '../../cluster/cluster.ts';
import type { Hop } from '../../cluster/eventing/broker.ts';
import { binaryHeaders, type CloudEvent } from '../../cluster/eventing/cloudevent.ts';
import { freshControlPlane, installedControlPlane } from './control-plane.ts';
import { Recorded } from '../eventually.ts';
import { History } from '../tenant/history.ts';
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

/** One installation on this machine, with the logs of its functions and the deliveries of its Broker. */
export interface TestEnvironment {
  readonly cluster: LocalCluster;
  readonly admin: Cluster;
  readonly lines: Recorded<Line>;
  readonly hops: Recorded<Hop>;
  /** Watches a namespace until the environment stops. */
  readonly watch: (namespace: string) => Promise<History>;
  /** Holds this namespace's events in the Broker until the caller calls the result; never the dry run before a quota's first lock. */
  readonly hold: (namespace: string, ...triggers: readonly string[]) => () => void;
  /** Posts one of the project's events to the Broker, as any client in the cluster may; resolves when all resulting events are delivered. */
  readonly forge: (event: OurEvent) => Promise<void>;
  /** Posts an already delivered event again, unchanged. */
  readonly repeat: (event: CloudEvent) => Promise<void>;
  /** Posts an event of the ApiServerSource for an object that need not exist. */
  readonly forgeSource: (about: SourceEvent) => Promise<void>;
  /** Runs before the environment stops, whether tests failed or not. */
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

/** A short migration, no SETTLE_MS wait because there is one API server, and the full log. */
const DEFAULTS = { timings: { migrationMs: 200 }, env: { SETTLE_MS: '0', LOG_LEVEL: 'debug' } };

/** Without `controlPlane` it uses the worker's own (kept.ts), for tests that leave its processes running. */
export async function startTestEnvironment(options: LocalClusterOptions = {}): Promise<TestEnvironment> {
  const lines = new Recorded<Line>((line) => JSON.stringify(line));
  const hops = new Recorded<Hop>((hop) => JSON.stringify(hop));
  const cluster = await startLocalCluster({
    ...DEFAULTS,
    ...options,
    ...(await controlPlaneFor(options)),
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
      broker.hold(
        ({ event, trigger }) =>
          triggers.includes(trigger) &&
          namespaceOf(event) === namespace &&
          event.attributes['type'] !== EVENT.quotaUntried,
      ),
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
      // Checks only the run's own installation: a component or another admission mode grants other rights.
      if (options.components === undefined && (options.admissionMode ?? ADMISSION_MODE) === ADMISSION_MODE)
        await noteRightsUsed(cluster.controlPlane);
      await cluster.stop();
    },
  };
}

type OnControlPlane = Pick<LocalClusterOptions, 'admissionMode' | 'controlPlane' | 'installed'>;

/** The installation that the worker keeps has no components and no changes. */
async function controlPlaneFor(options: LocalClusterOptions): Promise<OnControlPlane> {
  const { admissionMode = ADMISSION_MODE, controlPlane, components, change, tree, kubevirt } = options;
  if (controlPlane !== undefined) return { admissionMode, controlPlane };
  const isOther = [components, change, tree].some((one) => one !== undefined);
  return isOther || kubevirt === 'is there' || kubevirt?.release !== undefined
    ? { admissionMode, controlPlane: await freshControlPlane() }
    : { admissionMode, ...(await installedControlPlane(admissionMode)) };
}

/** The tenant's namespace of an event; '' when it has none. */
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
