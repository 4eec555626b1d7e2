import { statSync } from 'node:fs';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { Appended } from '../appended.ts';

/** audit.k8s.io/v1 Event, as far as it is looked at. */
interface Entry {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
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

/** One request to the API server, by its own record. */
export interface ApiRequest {
  /** When it came, milliseconds since 1970. */
  readonly at: number;
  /** Until the answer was complete; of a watch until it began. */
  readonly ms: number;
  /** One of our service accounts; or FLOOR. */
  readonly account: string;
  /** "update resourcequotas/status (dry run)" */
  readonly what: string;
  /** Of what it is about; a namespace is about itself; '' for the whole cluster. */
  readonly namespace: string;
  readonly code: number;
  /** It writes a Kubernetes Event. */
  readonly isEvent: boolean;
}

/** The user agent of the bare script that the product is compared with. */
export const FLOOR = 'bench-floor';

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** undefined: nobody's who is measured; or the end of a watch, which was counted when it began. */
export function requestOf(line: string): ApiRequest | undefined {
  if (!line.includes(OURS) && !line.includes(FLOOR)) return undefined;
  const entry = JSON.parse(line) as Entry;
  const account = accountOf(entry);
  const counted = entry.verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete';
  if (account === undefined || entry.stage !== counted) return undefined;
  const at = millisecondsOf(entry.requestReceivedTimestamp);
  const ms = millisecondsOf(entry.stageTimestamp) - at;
  return { at, ms, account, code: entry.responseStatus?.code ?? 0, ...subjectOf(entry) };
}

function subjectOf({
  verb,
  requestURI,
  objectRef = {},
}: Entry): Pick<ApiRequest, 'what' | 'namespace' | 'isEvent'> {
  const { resource = '', subresource, namespace, name = '' } = objectRef;
  const plural = subresource === undefined ? resource : `${resource}/${subresource}`;
  return {
    what: `${verb} ${plural}${requestURI.includes('dryRun=All') ? ' (dry run)' : ''}`,
    namespace: namespace ?? (resource === 'namespaces' ? name : ''),
    isEvent: resource === 'events' && verb === 'create',
  };
}

function accountOf({ user: { username }, userAgent = '' }: Entry): string | undefined {
  if (userAgent === FLOOR) return FLOOR;
  const account = username.startsWith(OURS) ? username.slice(OURS.length) : undefined;
  // The source's watches are there as long as the cluster is: nothing of a release.
  return account === SERVICE_ACCOUNT.source ? undefined : account;
}

/** RFC 3339 with microseconds, of which Date keeps only thousandths of a second. */
function millisecondsOf(time: string): number {
  const [, fraction = ''] = /\.(\d+)Z$/.exec(time) ?? [];
  return Date.parse(time.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction || '0'}`) * 1_000;
}

/**
 * What is done for the migrations of a namespace: all that the functions do (some of it reads the whole cluster), and what
 * the guard does there; its sweeps go on whether there is a migration or not.
 */
export const isFor =
  (namespace: string) =>
  (request: ApiRequest): boolean =>
    request.account !== FLOOR &&
    (request.account !== SERVICE_ACCOUNT.guard || request.namespace === namespace);

/** How often each was done, the most frequent first: "mtq-raise create resourcequotas (dry run) → 403". */
export function countsOf(requests: readonly ApiRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { account, what, code } of requests) {
    const key = `${account} ${what}${code >= 400 ? ` → ${code}` : ''}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, one], [, other]) => other - one));
}

/** The requests of those who are measured, from now on. */
export class RequestLog {
  readonly requests: ApiRequest[] = [];
  readonly #log: Appended;

  constructor(file: string) {
    this.#log = new Appended(file, statSync(file).size);
  }

  /** Takes in what was answered since the last time; how many requests that were. */
  read(): number {
    const before = this.requests.length;
    for (const line of this.#log.read()) {
      const request = requestOf(line);
      if (request !== undefined) this.requests.push(request);
    }
    return this.requests.length - before;
  }
}
