import { dnsLabel, dnsSubdomain } from '../../functions/domain/dns-name.ts';
import { missingRights } from '../../functions/live/plan/rights-missing.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import type { NamedReference, Plan, Provider } from '../../functions/domain/live/forklift.ts';
import type { Requester } from '../../functions/domain/live/requester.ts';
import {
  describeRight,
  rightsToConnect,
  rightsToMove,
  rightToRead,
  rightToUse,
  type Right,
} from '../../functions/live/plan/rights-needed.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../functions/kubernetes/live-resources.ts';
import { isHost } from '../../functions/live/findings/providers.ts';
import type { AdmissionRequest, Decision, Denial } from '../admission/admission.ts';
import { LIVE_REFUSAL } from '../admission/messages.ts';
import { providerProblem } from './provider-review.ts';
import {
  hasSameSpec,
  requesterAnnotation,
  requesterIn,
  withMigrationAnnotations,
  withRequester,
} from './requester-annotation.ts';
import * as z from '../../functions/runtime/zod.ts';

const GROUP = 'forklift.konveyor.io';

/** Whether the request is about a live migration between clusters. Only the webhook of that component sends such requests. */
export const isAboutForklift = ({ resource }: AdmissionRequest): boolean => resource.group === GROUP;

/** KiB of JSON: each review of a right sends the requester, and a forged request may have megabytes of groups. */
const MAX_REQUESTER_KIB = 64;

const isOversized = (requester: Requester): boolean =>
  Buffer.byteLength(JSON.stringify(requester)) > MAX_REQUESTER_KIB * 1024;

/** Refuses the review of a client at this address. */
export const refuseForeign = (address: string): Denial => deny(LIVE_REFUSAL.foreign({ address }));

type Reading = Pick<Cluster, 'get' | 'create'>;

/** The review of the guard if the component is installed. */
export interface ForkliftReview {
  readonly cluster: Reading;
  /** Whether addresses of the machine itself are allowed, for clusters of one machine. */
  readonly allowLoopback: boolean;
}

/**
 * Writes the requester on Forklift's objects. A user who creates a Migration must be allowed to do what its run does, and to use both
 * providers with their tokens. A user who writes a Provider must be allowed to read the Secret that it names. `live` reviews later what the
 * requester of a plan, a map or a hook may do. Unknown resources are refused.
 */
export async function reviewForklift(request: AdmissionRequest, options: ForkliftReview): Promise<Decision> {
  if (request.operation === 'DELETE') return { allowed: true };
  if (isOversized(requesterIn(request))) return deny(LIVE_REFUSAL.oversized({ kib: MAX_REQUESTER_KIB }));
  switch (request.resource.resource) {
    case PLAN_MIGRATIONS.plural:
      return reviewMigration(request, options.cluster);
    case PROVIDERS.plural:
      return reviewProvider(request, options);
    case PLANS.plural:
    case STORAGE_MAPS.plural:
    case NETWORK_MAPS.plural:
    case HOOKS.plural:
      return withRequester(request);
    default:
      return refuseUnknown(request);
  }
}

export const refuseUnknown = ({ resource: { resource } }: AdmissionRequest): Denial =>
  deny(LIVE_REFUSAL.unknown({ resource }));

type Written = Exclude<AdmissionRequest, { operation: 'DELETE' }>;

const reference = z.object({
  name: dnsSubdomain,
  namespace: z.optional(z.union([z.literal(''), dnsLabel])),
});
const migrationSchema = z.object({ spec: z.object({ plan: reference }) });
const planSchema = z.object({
  spec: z.object({
    targetNamespace: dnsLabel,
    provider: z.object({ source: reference, destination: reference }),
    vms: z.array(
      z.object({
        name: z.optional(z.string()),
        namespace: z.optional(z.string()),
        hooks: z.optional(z.array(z.unknown())),
      }),
    ),
  }),
});

/** Reviews a Migration. An update keeps the annotation as it was, unless the Migration becomes one of another plan. */
async function reviewMigration(request: Written, cluster: Reading): Promise<Decision> {
  const { object, oldObject, namespace = '' } = request;
  const parsed = migrationSchema.safeParse(object);
  if (!parsed.success) return deny(LIVE_REFUSAL.noPlan());
  const before = oldObject === null ? undefined : migrationSchema.safeParse(oldObject).data;
  const at = placed(parsed.data.spec.plan, namespace);
  if (before !== undefined && nameOf(at) === nameOf(placed(before.spec.plan, namespace)))
    return withMigrationAnnotations(request, requesterAnnotation(oldObject));
  const requester = requesterIn(request);
  const run = await readRun(at, { cluster, requester });
  if (run.kind === 'refused') return deny(run.message);
  if (run.kind === 'other') return withMigrationAnnotations(request, undefined);
  const problem = await problemOf(run, at, { cluster, requester });
  return problem === undefined ? withMigrationAnnotations(request, JSON.stringify(requester)) : deny(problem);
}

/** Returns why the user may not run the plan; undefined if the user may. */
async function problemOf(
  { plan, source, destination }: Extract<RunToReview, { kind: 'live' }>,
  at: Required<NamedReference>,
  { cluster, requester }: Asking,
): Promise<string | undefined> {
  const hosts = { isSource: isHost(source), isTarget: isHost(destination) };
  if (hosts.isSource && plan.spec.vms.some(({ name, namespace }) => !name || !namespace))
    return LIVE_REFUSAL.unnamedVm({ plan: nameOf(at) });
  const missing = await missingRights(cluster, requester, rightsToMove(plan, hosts));
  return missing.length === 0 ? undefined : lacking(requester, missing);
}

type RunToReview =
  | { readonly kind: 'refused'; readonly message: string }
  /** A Migration that is not live. */
  | { readonly kind: 'other' }
  | {
      readonly kind: 'live';
      readonly plan: Plan;
      readonly source: Provider;
      readonly destination: Provider;
    };

interface Asking {
  readonly cluster: Reading;
  readonly requester: Requester;
}

/** Reads nothing that the user may not read or use, so that a refusal does not disclose anything. */
async function readRun(at: Required<NamedReference>, asking: Asking): Promise<RunToReview> {
  const { cluster, requester } = asking;
  const refused = (message: string): RunToReview => ({ kind: 'refused', message });
  const unreadable = await missingRights(cluster, requester, [rightToRead(at)]);
  if (unreadable.length > 0) return refused(lacking(requester, unreadable));
  const plan = await read(cluster, PLANS, at);
  if (plan === undefined) return refused(LIVE_REFUSAL.notFound({ kind: 'Plan', name: nameOf(at) }));
  if (plan.spec.type !== 'live') return { kind: 'other' };
  const parsed = planSchema.safeParse(plan);
  if (!parsed.success) return refused(LIVE_REFUSAL.badPlan({ plan: nameOf(at) }));
  const { provider } = parsed.data.spec;
  const [from, to] = [placed(provider.source, at.namespace), placed(provider.destination, at.namespace)];
  const unusable = await missingRights(cluster, requester, [rightToUse(from), rightToUse(to)]);
  if (unusable.length > 0) return refused(lacking(requester, unusable));
  const [source, destination] = await Promise.all([
    read(cluster, PROVIDERS, from),
    read(cluster, PROVIDERS, to),
  ]);
  if (source === undefined) return refused(LIVE_REFUSAL.notFound({ kind: 'Provider', name: nameOf(from) }));
  if (destination === undefined)
    return refused(LIVE_REFUSAL.notFound({ kind: 'Provider', name: nameOf(to) }));
  return { kind: 'live', plan, source, destination };
}

async function read<T extends Plan | Provider>(
  cluster: Reading,
  type: ResourceType<T>,
  at: Required<NamedReference>,
): Promise<T | undefined> {
  return (await ignoreNotFound(cluster.get(type, at)))?.object;
}

async function reviewProvider(
  request: Written,
  { cluster, allowLoopback }: ForkliftReview,
): Promise<Decision> {
  if (hasSameSpec(request)) return withRequester(request);
  const provider = request.object as Provider;
  const { namespace = '' } = request;
  const problem = providerProblem(provider, { namespace, allowLoopback });
  if (problem !== undefined) return deny(problem);
  const requester = requesterIn(request);
  const missing = await missingRights(cluster, requester, rightsToConnect(provider, namespace));
  return missing.length === 0 ? withRequester(request) : deny(lacking(requester, missing));
}

/** A reference as the schema parses it. */
type Reference = z.infer<typeof reference>;

/** Places a reference: without a namespace it is to an object of the same one. */
const placed = ({ name, namespace = '' }: Reference, own: string): Required<NamedReference> => ({
  name,
  namespace: namespace === '' ? own : namespace,
});

const nameOf = ({ namespace, name }: Required<NamedReference>): string => `${namespace}/${name}`;

const lacking = ({ user }: Requester, rights: readonly Right[]): string =>
  LIVE_REFUSAL.lackingRights({ user, rights: rights.map(describeRight).join(', ') });

const deny = (message: string): Denial => ({ allowed: false, code: 403, reason: 'Forbidden', message });
