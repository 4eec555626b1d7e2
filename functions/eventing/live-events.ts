import { CloudEvent } from 'cloudevents';
import { FORKLIFT_KIND, LIVE_EVENT, REFERENCE_EVENT } from '../domain/live/names.ts';
import { dnsLabel, dnsSubdomain } from '../domain/dns-name.ts';
import { sourceOf } from '../domain/names.ts';
import { BadEvent } from './cloud-events.ts';
import * as z from '../runtime/zod.ts';
import type { NamedReference } from '../domain/live/forklift.ts';
import type { KubernetesObject } from '../domain/objects.ts';

/** What an event is about: only a hint where to look. */
export interface LiveRequest {
  readonly type: string;
  readonly id: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The event only says that an object is there or has changed, which `live` may have done itself. */
  readonly isChange: boolean;
  /** The Migrations that go on by it, as the watcher of the clusters knows them; none: `live` looks for them. */
  readonly runs: readonly (Required<NamedReference> & { readonly uid: string })[];
  /** The object at the version that the watcher has seen; left out where it is gone, and in other events. */
  readonly seen?: ObjectVersion;
}

/** An object at one of its versions. */
export interface ObjectVersion {
  /** The uid of the namespace kube-system of its cluster: another cluster may claim the same uid. */
  readonly cluster: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export const keyOfVersion = ({ cluster, uid }: Pick<ObjectVersion, 'cluster' | 'uid'>): string =>
  `${cluster}/${uid}`;

const reference = z.object({
  kind: z.string().check(z.minLength(1), z.maxLength(63)),
  namespace: dnsLabel,
  name: dnsSubdomain,
});

/** The data of each of LIVE_EVENT: a Plan or a Migration. */
export const liveEventData = z.extend(reference, {
  kind: z.enum([FORKLIFT_KIND.plan.kind, FORKLIFT_KIND.migration.kind]),
});

/**
 * Maximum of the Migrations of one event: a VM has one run, and others that wait for its end, which the guard's resync reaches too. Any
 * client of the Broker may post such an event, and each Migration costs a reconcile.
 */
const MAX_RUNS = 10;
const watched = z.object({
  runs: z
    .array(z.object({ namespace: dnsLabel, name: dnsSubdomain, uid: z.string() }))
    .check(z.maxLength(MAX_RUNS)),
  uid: z.string(),
  resourceVersion: z.string(),
});

/** Returns what the watcher says besides; an ApiServerSource says none of it. An object that is gone has the version that it had. */
function watchedIn(data: unknown, type: string, cluster: unknown): Pick<LiveRequest, 'runs' | 'seen'> {
  const { success, data: found } = watched.safeParse(data);
  if (!success) return { runs: [] };
  const { runs, uid, resourceVersion } = found;
  const isGone = type === REFERENCE_EVENT.delete;
  return isGone || typeof cluster !== 'string' ? { runs } : { runs, seen: { cluster, uid, resourceVersion } };
}

const OWN: readonly string[] = Object.values(LIVE_EVENT);
const REFERENCES: readonly string[] = Object.values(REFERENCE_EVENT);

/** Reads an event of an ApiServerSource or the watcher by the attributes, an own event by the data. Throws BadEvent. */
export function toLiveRequest({ type, id, data, ...attributes }: CloudEvent<unknown>): LiveRequest {
  if (OWN.includes(type))
    return { type, id, ...parsed(liveEventData, data, `data of ${type}`), isChange: false, runs: [] };
  if (REFERENCES.includes(type))
    return {
      type,
      id,
      ...parsed(reference, attributes, `event ${type}`),
      isChange: type !== REFERENCE_EVENT.add || attributes['kind'] !== FORKLIFT_KIND.migration.kind,
      ...watchedIn(data, type, attributes['mtqcluster']),
    };
  throw new BadEvent(`live does not handle ${type}`);
}

function parsed<T>(schema: z.ZodMiniType<T>, value: unknown, what: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (!success) throw new BadEvent(`${what}: ${z.prettifyError(error)}`);
  return data;
}

/** An event that starts `live`. */
interface LiveEventParts {
  readonly type: (typeof LIVE_EVENT)[keyof typeof LIVE_EVENT];
  readonly from: string;
  readonly about: Pick<LiveRequest, 'kind' | 'namespace' | 'name'>;
  /** Part of the id, so that the same cause gives the same event. */
  readonly cause: string;
}

export function liveEvent({ type, from, about, cause }: LiveEventParts): CloudEvent<Record<string, unknown>> {
  const subject = `${about.namespace}/${about.name}`;
  const { kind, namespace, name: of } = about;
  return new CloudEvent({
    ...{ type, source: sourceOf(from), subject },
    id: `${from}/${type.split('.').at(-1) ?? ''}/${kind}/${subject}/${cause}`.slice(0, MAX_ID),
    datacontenttype: 'application/json',
    data: { kind, namespace, name: of },
  });
}

/** Characters of a phase: KubeVirt's have up to 20, and the API server may be any that a Provider names. */
const MAX_PHASE = 63;

/** An id may be the cause of the next one. */
const MAX_ID = 500;

/** A Plan or a Migration. */
export interface LiveSubject {
  readonly kind: (typeof FORKLIFT_KIND)['plan' | 'migration']['kind'];
  readonly namespace: string;
  readonly name: string;
}

/** The guard's event about an object that `live` has to look at again. `turn`: makes the id, so that two guards post the same one. */
export const resyncEventOf = (
  { kind, namespace, name }: LiveSubject,
  turn: number,
): CloudEvent<Record<string, unknown>> =>
  new CloudEvent({
    type: LIVE_EVENT.resync,
    source: sourceOf('guard'),
    subject: `${namespace}/${name}`,
    id: `guard/live.sweep/${kind}/${namespace}/${name}/${String(turn)}`,
    datacontenttype: 'application/json',
    data: { kind, namespace, name },
  });

export interface Referred {
  readonly change: keyof typeof REFERENCE_EVENT;
  readonly object: KubernetesObject & { readonly status?: { readonly phase?: string } };
  readonly type: { readonly apiVersion: string; readonly kind: string; readonly plural: string };
  /** The uid of the namespace kube-system of the object's cluster. */
  readonly cluster: string;
  /** The Migrations that go on by it. */
  readonly runs: LiveRequest['runs'];
}

/**
 * An event like an ApiServerSource's in mode Reference (facts/knative.md §1.2): which object, and nothing of it but its phase. The extension
 * `mtqcluster` says in which cluster it is; its data, which Migrations go on by it.
 */
export function referenceEventOf({
  change,
  object,
  type,
  cluster,
  runs,
}: Referred): CloudEvent<Record<string, unknown>> {
  const { apiVersion, kind, plural } = type;
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const phase: unknown = object.status?.phase;
  const where = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return new CloudEvent({
    type: REFERENCE_EVENT[change],
    source: sourceOf('live-watcher'),
    subject: `/apis/${apiVersion}${where}/${plural}/${name}`,
    id: [cluster, uid, resourceVersion, change].join('/'),
    datacontenttype: 'application/json',
    data: { kind, namespace, name, apiVersion, uid, resourceVersion, runs: runs.slice(0, MAX_RUNS) },
    ...{ kind, name, apiversion: apiVersion, mtqcluster: cluster, resourceversion: resourceVersion },
    ...(namespace === undefined ? {} : { namespace }),
    ...(typeof phase === 'string' && phase !== '' && phase.length <= MAX_PHASE ? { phase } : {}),
  });
}
