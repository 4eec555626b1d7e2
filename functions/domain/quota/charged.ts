import type { Reference } from '../lock.ts';
import type { AmountList, Vmmrq } from '../objects.ts';
import { describeQuantity, formatAmount, isHardQuantity, parseQuantity, type Amount } from '../quantity.ts';

/** Amounts by canonical key. */
export type Amounts = ReadonlyMap<string, Amount>;

const ALIAS: Readonly<Record<string, string>> = {
  cpu: 'requests.cpu',
  memory: 'requests.memory',
  'ephemeral-storage': 'requests.ephemeral-storage',
  'count/pods': 'pods',
};

const COMPUTE = /^(requests|limits)\.(cpu|memory|ephemeral-storage)$/;
const HUGEPAGES = /^(requests\.)?hugepages-.+$/;
/** requests.<vendor>/<device>, but for Kubernetes' own names; requests.storage is a PVC's, and has no slash. */
const EXTENDED = /^requests\.(?![^/]*kubernetes\.io\/)[^/]+\/.+$/;
/** A device of dynamic resource allocation that a container asks for by its class. */
const DEVICE_CLASS = /^requests\.deviceclass\.resource\.kubernetes\.io\/.+$/;

/**
 * Canonical name of what Kubernetes counts under several: cpu = requests.cpu, hugepages-2Mi = requests.hugepages-2Mi, …
 * (kubernetes pkg/quota/v1/evaluator/core/pods.go). `count/pods` and `pods` are one for what a VMMRQ gives.
 */
export function canonicalKey(key: string): string {
  if (key.startsWith('hugepages-')) return `requests.${key}`;
  return ALIAS[key] ?? key;
}

/**
 * Whether admission charges pods under this key, so that raising it can help a migration (kubernetes 1.36
 * pkg/quota/v1/evaluator/core/pods.go, MatchingResources).
 */
export function isChargedByPods(key: string): boolean {
  const canonical = canonicalKey(key);
  return canonical === 'pods' || FORMS.some((form) => form.test(canonical));
}

/**
 * Whether the key counts devices of a class. Older clusters do not know such keys: their quota controller writes them to status.hard, and
 * never to `used` (kubernetes 1.36 isExtendedResourceNameForQuota).
 */
export const isOfDeviceClass = (key: string): boolean => DEVICE_CLASS.test(key);

/**
 * Whether ResourceClaims may be charged under the key besides pods: of a class that has the device's name (kubernetes 1.36
 * pkg/quota/v1/evaluator/core/resource_claims.go, MatchingResources).
 */
export const mayCountClaims = (key: string): boolean => EXTENDED.test(key) || DEVICE_CLASS.test(key);

const FORMS = [COMPUTE, HUGEPAGES, EXTENDED, DEVICE_CLASS];

/**
 * Sums lists of quantities under canonical keys. An amount that is negative or no quantity counts as nothing: the CRD
 * refuses such a one, but those of the incumbent may be stored.
 */
const sumAmounts = (lists: readonly AmountList[]): Amounts => sumOf(lists.map(amountsOf));

/** The sum of several lists, such as what several pods are charged. */
export function sumOf(lists: readonly Amounts[]): Amounts {
  const sum = new Map<string, Amount>();
  for (const [key, amount] of lists.flatMap((list) => [...list])) sum.set(key, (sum.get(key) ?? 0n) + amount);
  return sum;
}

/** A list that names a resource twice (cpu and requests.cpu) counts once, with the smaller amount: no key gets more (I5). */
function amountsOf(list: AmountList): Amounts {
  const amounts = new Map<string, Amount>();
  for (const [key, text] of Object.entries(list).filter(([, each]) => isUsable(each))) {
    const canonical = canonicalKey(key);
    const amount = parseQuantity(String(text));
    const known = amounts.get(canonical) ?? amount;
    amounts.set(canonical, amount < known ? amount : known);
  }
  return amounts;
}

/** The sum of the VMMRQs of a namespace. */
export const amountsGiven = (vmmrqs: readonly Vmmrq[]): Amounts => sumAmounts(vmmrqs.map(listOf));

/** Keys of a VMMRQ whose amount cannot be used. */
export const unusableKeys = (vmmrq: Vmmrq): string[] =>
  Object.entries(listOf(vmmrq)).flatMap(([key, amount]) => (isUsable(amount) ? [] : [key]));

/** The API server takes `pods: 1` for a quantity too, and gives the number back. */
const isUsable = (amount: AmountList[string]): boolean => isHardQuantity(String(amount));

const listOf = ({ spec }: Vmmrq): AmountList => spec.additionalMigrationResources ?? {};

export interface Shortfall {
  /** The key as the quota spells it. */
  readonly key: string;
  readonly missing: Amount;
}

/** What one quota lacks for one migration. */
export interface Blocking {
  readonly quota: Reference;
  readonly shortfalls: readonly Shortfall[];
}

/** Describes shortfalls to people: "requests.cpu=600m, requests.memory=647Mi". */
export const describeShortfalls = (shortfalls: readonly Shortfall[]): string =>
  shortfalls.map(({ key, missing }) => `${key}=${describeQuantity(key, missing)}`).join(', ');

/** "ResourceQuota quota lacks requests.cpu=600m" */
export const describeBlocking = ({ quota, shortfalls }: Blocking): string =>
  `ResourceQuota ${quota.name} lacks ${describeShortfalls(shortfalls)}`;

/** The exact shortfalls for programs: { "requests.cpu": "600m" }. */
export const shortfallTexts = (shortfalls: readonly Shortfall[]): Record<string, string> =>
  Object.fromEntries(shortfalls.map(({ key, missing }) => [key, formatAmount(key, missing)]));
