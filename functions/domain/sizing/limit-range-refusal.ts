import type {
  Container,
  LimitRange,
  LimitRangeItem,
  Migration,
  Pod,
  ResourceList,
  VirtualMachineInstance,
} from '../objects.ts';
import { claimToMake, type ClaimSize } from './claims.ts';
import { describeQuantity, formatAmount, parseQuantity, type Amount } from '../quantity.ts';
import { askedFor } from './pod-usage.ts';

/** What the pod as a whole, or one of its containers, asks for of one resource. */
interface Asked {
  readonly request: Amount | undefined;
  readonly limit: Amount | undefined;
}
type AskedOf = (resource: string) => Asked;

/**
 * Why a LimitRange would refuse the pod, defaults filled in (withDefaults), nearly in the API server's words; undefined: none
 * does (kubernetes 1.36 plugin/pkg/admission/limitranger/admission.go, PodValidateLimitFunc). A default limit that is less than
 * the request makes the pod invalid.
 */
export function limitRangeRefusal(pod: Pod, ranges: readonly LimitRange[]): string | undefined {
  if (ranges.length === 0) return undefined;
  const invalid = containersOf(pod).flatMap(exceedingRequest)[0];
  if (invalid !== undefined) return invalid;
  for (const item of ranges.flatMap(({ spec }) => spec.limits)) {
    for (const askedOf of askedPer(item.type, pod)) {
      const refusal = refusalBy(item, askedOf);
      if (refusal !== undefined) return refusal;
    }
  }
  return undefined;
}

/**
 * Why a LimitRange would refuse one of the claims, nearly in the API server's words; undefined: it does not (limitranger,
 * PersistentVolumeClaimValidateLimitFunc).
 */
export function claimsRefusal(claims: readonly ClaimSize[], { spec }: LimitRange): string | undefined {
  const requests = claims.flatMap((claim) => amountIn(claim.spec.resources?.requests, STORAGE) ?? []);
  const refusals = spec.limits
    .filter(({ type }) => type === CLAIM)
    .flatMap((item) => requests.flatMap((request) => claimRefusal(item, request) ?? []));
  return refusals[0];
}

/**
 * Why a LimitRange would refuse the volume claim that virt-controller creates just before the target pod; undefined: none does, or it creates
 * none. KubeVirt then creates no pod, and reports that by no condition and no Event (facts/kubevirt.md §1.3).
 */
export function stateClaimRefusal(
  migration: Migration,
  vmi: VirtualMachineInstance,
  {
    limitRanges,
    ...now
  }: Parameters<typeof claimToMake>[2] & { readonly limitRanges: readonly LimitRange[] },
): string | undefined {
  const claim = claimToMake(migration, vmi, now);
  if (claim === undefined) return undefined;
  const refusals = limitRanges.flatMap((range) => {
    const refusal = claimsRefusal([claim], range);
    return refusal === undefined ? [] : [`LimitRange ${range.metadata.name} refuses: ${refusal}`];
  });
  return refusals[0];
}

/** Whether the LimitRange is about volume claims. */
export const limitsClaims = ({ spec }: LimitRange): boolean => spec.limits.some(({ type }) => type === CLAIM);

function claimRefusal({ min = {}, max = {} }: LimitRangeItem, request: Amount): string | undefined {
  const but = (enforced: Amount): string => `but request is ${describeBeside(enforced, STORAGE, request)}`;
  const [least = request, most = request] = [amountIn(min, STORAGE), amountIn(max, STORAGE)];
  if (request < least) return `minimum storage usage per ${CLAIM} is ${min[STORAGE] ?? ''}, ${but(least)}`;
  return request > most
    ? `maximum storage usage per ${CLAIM} is ${max[STORAGE] ?? ''}, ${but(most)}`
    : undefined;
}

/** Describes an amount to people: exactly where it would read like the one that it is less or more than. */
function describeBeside(enforced: Amount, resource: string, amount: Amount): string {
  const text = describeQuantity(resource, amount);
  return text === describeQuantity(resource, enforced) ? formatAmount(resource, amount) : text;
}

const CLAIM = 'PersistentVolumeClaim';
const STORAGE = 'storage';

function askedPer(type: string, pod: Pod): AskedOf[] {
  if (type === 'Pod') {
    const [requests, limits] = [askedFor(pod, 'requests'), askedFor(pod, 'limits')];
    return [(resource): Asked => ({ request: requests.get(resource), limit: limits.get(resource) })];
  }
  if (type !== 'Container') return [];
  return containersOf(pod).map(({ resources }): AskedOf => (resource) => ({
    request: amountIn(resources?.requests, resource),
    limit: amountIn(resources?.limits, resource),
  }));
}

const containersOf = ({ spec }: Pod): Container[] => [...spec.containers, ...(spec.initContainers ?? [])];

function exceedingRequest({ name, resources }: Container): string[] {
  return Object.entries(resources?.limits ?? {}).flatMap(([resource, limit]) => {
    const request = amountIn(resources?.requests, resource);
    const enforced = parseQuantity(limit);
    if (request === undefined || request <= enforced) return [];
    const asked = describeBeside(enforced, resource, request);
    return [`container ${name} requests ${resource}=${asked}, but its limit is ${limit}`];
  });
}

const amountIn = (list: ResourceList | undefined, resource: string): Amount | undefined =>
  list?.[resource] === undefined ? undefined : parseQuantity(list[resource]);

function refusalBy(
  { type, min, max, maxLimitRequestRatio }: LimitRangeItem,
  askedOf: AskedOf,
): string | undefined {
  const checks: readonly (readonly [ResourceList | undefined, string, Check])[] = [
    [min, 'minimum % usage', belowMinimum],
    [max, 'maximum % usage', aboveMaximum],
    [maxLimitRequestRatio, '% max limit to request ratio', aboveRatio],
  ];
  for (const [list = {}, what, check] of checks) {
    for (const [resource, text] of Object.entries(list)) {
      const but = check(parseQuantity(text), askedOf(resource), resource);
      if (but !== undefined) return `${what.replace('%', resource)} per ${type} is ${text}, but ${but}`;
    }
  }
  return undefined;
}

/** What is wrong with what is asked for; undefined: nothing. */
type Check = (enforced: Amount, asked: Asked, resource: string) => string | undefined;

const belowMinimum: Check = (enforced, { request, limit }, resource) => {
  if (request === undefined) return 'no request is specified';
  if (request < enforced) return `request is ${describeBeside(enforced, resource, request)}`;
  return limit !== undefined && limit < enforced
    ? `limit is ${describeBeside(enforced, resource, limit)}`
    : undefined;
};

const aboveMaximum: Check = (enforced, { request, limit }, resource) => {
  if (limit === undefined) return 'no limit is specified';
  if (limit > enforced) return `limit is ${describeBeside(enforced, resource, limit)}`;
  return request !== undefined && request > enforced
    ? `request is ${describeBeside(enforced, resource, request)}`
    : undefined;
};

const ONE = parseQuantity('1');

const aboveRatio: Check = (enforced, { request = 0n, limit = 0n }) => {
  if (request === 0n) return 'no request is specified or request is 0';
  if (limit === 0n) return 'no limit is specified or limit is 0';
  return limit * ONE > enforced * request ? 'the provided ratio is greater' : undefined;
};
