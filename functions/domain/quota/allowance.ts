import { amountsGiven, canonicalKey, isChargedByPods, type Amounts } from './charged.ts';
import type { RaisePolicy, ResourceQuota, Vmmrq } from '../objects.ts';
import { parseQuantity, type Amount } from '../quantity.ts';

/** The policy of a VMMRQ without one: other pods cannot use headroom that is not raised. */
const DEFAULT_POLICY: RaisePolicy = 'Exact';

/** The sum of the VMMRQs of a namespace for one key of one quota. */
export interface Allowance {
  /** Sum of the VMMRQs with policy Fixed: the minimum of the raise, whatever the shortfall is. */
  readonly fixed: Amount;
  /** Sum of all VMMRQs: the maximum of the raise (I5). */
  readonly max: Amount;
}

/**
 * The allowance by quota and key, as the quota spells it. The quota must not be raised, since a percentage refers to its own
 * spec.hard.
 */
export type AllowanceOf = (quota: ResourceQuota, key: string) => Allowance;

const NOTHING: Allowance = { fixed: 0n, max: 0n };

/** Sums the VMMRQs: the amounts, and the percentages of what the quota has. */
export function allowanceFrom(vmmrqs: readonly Vmmrq[]): AllowanceOf {
  const parts = partsOf(vmmrqs);
  return (quota, key) => {
    const hard = quota.spec.hard?.[key];
    if (hard === undefined || !isChargedByPods(key)) return NOTHING;
    const canonical = canonicalKey(key);
    let { fixed, max } = NOTHING;
    for (const { isFixed, amounts, percent } of parts) {
      const part = (amounts.get(canonical) ?? 0n) + share(canonical, parseQuantity(hard), percent);
      max += part;
      if (isFixed) fixed += part;
    }
    // Rounded down: the API server rounds up, and would store more than the allowance (I5).
    return { fixed: floorToUnit(canonical, fixed), max: floorToUnit(canonical, max) };
  };
}

/** What one VMMRQ gives. */
interface Part {
  readonly isFixed: boolean;
  readonly amounts: Amounts;
  /** Hundredths of a quota's amount. */
  readonly percent: bigint;
}

/** The parts of the VMMRQs: together they give the quota once at most, however many give a share; those with policy Fixed first. */
function partsOf(vmmrqs: readonly Vmmrq[]): Part[] {
  const isFixed = ({ spec }: Vmmrq): boolean => (spec.raisePolicy ?? DEFAULT_POLICY) === 'Fixed';
  let left = 100n;
  return [...vmmrqs.filter(isFixed), ...vmmrqs.filter((vmmrq) => !isFixed(vmmrq))].map((vmmrq) => {
    const wanted = percentOf(vmmrq) ?? 0n;
    const percent = wanted < left ? wanted : left;
    left -= percent;
    return { isFixed: isFixed(vmmrq), amounts: amountsGiven([vmmrq]), percent };
  });
}

const PERCENTAGE = /^(100|[1-9]?[0-9])%$/;

/** Hundredths; undefined when the VMMRQ has none, or one that cannot be used. */
export function percentOf({ spec }: Vmmrq): bigint | undefined {
  const digits = PERCENTAGE.exec(spec.additionalMigrationPercentage ?? '')?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}

const ONE = parseQuantity('1');
const MILLI = parseQuantity('1m');
/** A device may be named like it: requests.example.com/fast.cpu. */
const CPU = /^(requests|limits)\.cpu$/;

const share = (key: string, hard: Amount, percent: bigint): Amount =>
  floorToUnit(key, (hard * percent) / 100n);

/** Rounds down to what the API server accepts: whole bytes, pods and devices, thousandths of a CPU. */
function floorToUnit(key: string, amount: Amount): Amount {
  const unit = CPU.test(key) ? MILLI : ONE;
  return (amount / unit) * unit;
}

/** The raise for this shortfall; undefined: it is unknown, so the raise is the full allowance. */
export function raiseBy({ fixed, max }: Allowance, missing: Amount | undefined): Amount {
  const wanted = missing === undefined || missing > max ? max : missing;
  return wanted > fixed ? wanted : fixed;
}
