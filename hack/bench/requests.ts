import { readFileSync } from 'node:fs';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { MIGRATIONS } from '../../functions/kubernetes/resources.ts';
import { Appended } from '../../test/cluster/appended.ts';

/** The fields we read of an audit.k8s.io/v1 Event. */
interface Entry {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** A request of a function or of the guard, from the API server's audit log. */
export interface ApiRequest {
  /** Time of arrival, milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds until the answer was complete; for a watch, until it started. */
  readonly ms: number;
  /** Our service account. */
  readonly account: string;
  /** "update resourcequotas/status (dry run)" */
  readonly what: string;
  /** Namespace of the object; for a Namespace its own name; '' for the whole cluster. */
  readonly namespace: string;
  readonly code: number;
  /** Whether the request writes a Kubernetes Event. */
  readonly isEvent: boolean;
  /** Whether the answer grows with all stored migrations: no selector omits finished ones. */
  readonly listsMigrations: boolean;
}

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** Parses a line; returns undefined for a request of another user, and for a stage at which a request is not counted. */
export function requestOf(line: string): ApiRequest | undefined {
  if (!line.includes(OURS)) return undefined;
  const entry = JSON.parse(line) as Entry;
  const { user, verb, stage } = entry;
  const account = user.username.slice(OURS.length);
  // The source's watches belong to no cycle.
  const isOurs = user.username.startsWith(OURS) && account !== SERVICE_ACCOUNT.source;
  if (!isOurs || stage !== (verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete')) return undefined;
  const at = millisecondsOf(entry.requestReceivedTimestamp);
  const ms = millisecondsOf(entry.stageTimestamp) - at;
  return { at, ms, account, code: entry.responseStatus?.code ?? 0, ...targetOf(entry) };
}

type RequestTarget = Pick<ApiRequest, 'what' | 'namespace' | 'isEvent' | 'listsMigrations'>;

function targetOf({ verb, requestURI, objectRef = {} }: Entry): RequestTarget {
  const { resource = '', subresource, namespace, name = '' } = objectRef;
  const plural = subresource === undefined ? resource : `${resource}/${subresource}`;
  const what = `${verb} ${plural}`;
  return {
    what: `${what}${requestURI.includes('dryRun=All') ? ' (dry run)' : ''}`,
    namespace: namespace ?? (resource === 'namespaces' ? name : ''),
    isEvent: resource === 'events' && verb === 'create',
    listsMigrations: what === `list ${MIGRATIONS.plural}`,
  };
}

/** RFC 3339 with microseconds: Date keeps only milliseconds. */
function millisecondsOf(time: string): number {
  const [, fraction = ''] = /\.(\d+)Z$/.exec(time) ?? [];
  return Date.parse(time.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction || '0'}`) * 1_000;
}

/** Requests of functions anywhere, since some read the whole cluster, and of the guard in this namespace: it also resyncs. */
export const isFor =
  (namespace: string) =>
  (request: ApiRequest): boolean =>
    request.account !== SERVICE_ACCOUNT.guard || request.namespace === namespace;

/** How often each request occurs, the most frequent first: "mtq-raise create resourcequotas (dry run) → 403". */
export function countsOf(requests: readonly ApiRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { account, what, code } of requests) {
    const key = `${account} ${what}${code >= 400 ? ` → ${code}` : ''}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, one], [, other]) => other - one));
}

/** Number of requests, watches among them, that these users have sent. */
export function userRequests(auditLog: string, users: readonly string[]): number {
  const asked = readFileSync(auditLog, 'utf8')
    .split('\n')
    .filter((line) => users.some((user) => line.includes(`"${user}"`)))
    .map((line) => JSON.parse(line) as Entry);
  return new Set(asked.filter(({ user }) => users.includes(user.username)).map(({ auditID }) => auditID))
    .size;
}

/** Our requests. */
export class RequestLog {
  readonly requests: ApiRequest[] = [];
  readonly #openWatches = new Set<string>();
  readonly #log: Appended;

  constructor(file: string) {
    this.#log = new Appended(file);
  }

  /** Number of watches that our service accounts, the source's included, had open at the last read. */
  get openWatches(): number {
    return this.#openWatches.size;
  }

  /** Appends the requests that were answered since the last call; returns their number. */
  read(): number {
    const before = this.requests.length;
    for (const line of this.#log.read()) {
      const request = requestOf(line);
      if (request !== undefined) this.requests.push(request);
      this.#countWatch(line);
    }
    return this.requests.length - before;
  }

  #countWatch(line: string): void {
    if (!line.includes(OURS) || !line.includes('"watch"')) return;
    const { auditID, stage, verb, user } = JSON.parse(line) as Entry;
    if (verb !== 'watch' || !user.username.startsWith(OURS)) return;
    if (stage === 'ResponseStarted') this.#openWatches.add(auditID);
    if (stage === 'ResponseComplete') this.#openWatches.delete(auditID);
  }
}
