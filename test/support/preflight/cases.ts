import fc from 'fast-check';
import { PURPOSES, type Purpose } from '../../../functions/domain/names.ts';
import {
  aVm,
  OTHER_KEYS,
  POD_KEYS,
  rarely,
  SCOPED_KEYS,
  SCOPES,
  weighted,
  type VmOf,
} from '../fuzz/cases.ts';

/** One random cluster as plain data: what an admin is about to do, KubeVirt, and namespaces with VMs. */
export interface PreflightCase {
  readonly task: 'node' | 'upgrade' | 'namespace';
  /** KubeVirt's parallel limits. */
  readonly limits: { readonly cluster: number; readonly node: number };
  /** Its additionalGuestMemoryOverheadRatio. */
  readonly overheadRatio: string | undefined;
  /** A version that adds no limits by itself: only such a one makes a launcher without requests. */
  readonly isOld: boolean;
  /** How much more overhead the launcher of the next release has; an admin who does not know it takes the default margin. */
  readonly upgrade: { readonly more: string; readonly isKnown: boolean };
  readonly namespaces: readonly NamespaceCase[];
  readonly clusterWide: Allowance & {
    readonly purposes: readonly Purpose[] | undefined;
  };
}

export interface NamespaceCase {
  readonly vms: readonly VmCase[];
  readonly quotas: readonly QuotaCase[];
  readonly limitRange: LimitRangeCase;
  readonly gives: Allowance;
  readonly optsOut: 'no' | 'namespace' | 'quota';
}

/** `before` and `after` the start of the VMs; the others come after, and may refuse target pods. */
export type LimitRangeCase =
  | 'none'
  | 'defaults before'
  | 'defaults after'
  | 'maximum of containers'
  | 'maximum of pods'
  | 'minimum'
  | 'ratio';

export interface VmCase {
  readonly vm: VmOf;
  readonly node: number;
  readonly hotplug: boolean;
  /** The access of the volume that keeps its TPM. */
  readonly state: 'none' | 'ReadWriteOnce' | 'ReadWriteMany';
  /** What differs in the target pod. */
  readonly change: 'nothing' | 'cpu' | 'memory';
  readonly strategy: string | null;
  readonly isMigratable: boolean;
  /** Why preflight cannot tell what happens to it, if so. */
  readonly unknown: 'no' | 'external eviction' | 'no launcher' | 'other cluster';
}

/** Headroom for so many parts of a hundred of the largest target pod. */
export interface QuotaCase {
  readonly scope: keyof typeof SCOPES;
  readonly keys: readonly { readonly key: string; readonly percent: number }[];
}

/** What a VMMRQ gives, relative to what is missing for the VM that lacks most. */
export interface Allowance {
  readonly amount: 'none' | 'nothing' | 'oneLess' | 'exact' | 'plenty';
  readonly percent: number | undefined;
}

const aPercent = weighted([5, 10_000], [3, 100], [2, 200], [3, 99], [2, 40], [2, 0], [1, -30]);

const keysOf = (keys: readonly string[]): fc.Arbitrary<QuotaCase['keys']> =>
  fc.uniqueArray(fc.record({ key: fc.constantFrom(...keys), percent: aPercent }), {
    minLength: 1,
    maxLength: 4,
    selector: ({ key }) => key,
  });

const scopes = Object.keys(SCOPES) as (keyof typeof SCOPES)[];
const aQuota: fc.Arbitrary<QuotaCase> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constant('none' as const) },
    { weight: 2, arbitrary: fc.constantFrom(...scopes) },
  )
  .chain((scope) => {
    const scoped = scope === 'BestEffort' ? ['pods', 'count/pods'] : SCOPED_KEYS;
    const keys = keysOf(scope === 'none' ? [...POD_KEYS, ...OTHER_KEYS] : scoped);
    return fc.record({ scope: fc.constant(scope), keys });
  });

const anAllowance: fc.Arbitrary<Allowance> = fc.record({
  amount: weighted<Allowance['amount']>(
    [4, 'none'],
    [1, 'nothing'],
    [2, 'oneLess'],
    [4, 'exact'],
    [3, 'plenty'],
  ),
  percent: weighted([8, undefined], [1, 5], [1, 50]),
});

const aVmCase = (isOld: boolean): fc.Arbitrary<VmCase> =>
  fc.record({
    vm: aVm.map((vm) => (vm.kind === 'bestEffort' && !isOld ? { ...vm, kind: 'plain' } : vm)),
    node: fc.integer({ min: 0, max: 2 }),
    hotplug: rarely(3),
    state: weighted<VmCase['state']>([8, 'none'], [2, 'ReadWriteOnce'], [1, 'ReadWriteMany']),
    change: weighted<VmCase['change']>([8, 'nothing'], [1, 'cpu'], [1, 'memory']),
    strategy: weighted<string | null>(
      [12, 'LiveMigrate'],
      [2, 'LiveMigrateIfPossible'],
      [1, 'None'],
      [1, null],
    ),
    isMigratable: rarely(9),
    unknown: fc.constant('no' as const),
  });

const aNamespace = (isOld: boolean): fc.Arbitrary<NamespaceCase> =>
  fc.record({
    vms: fc.array(aVmCase(isOld), { minLength: 1, maxLength: 4 }),
    quotas: fc.array(aQuota, { minLength: 0, maxLength: 3 }),
    limitRange: weighted<LimitRangeCase>(
      [26, 'none'],
      [4, 'defaults before'],
      [4, 'defaults after'],
      [1, 'maximum of containers'],
      [1, 'maximum of pods'],
      [1, 'minimum'],
      [1, 'ratio'],
    ),
    gives: anAllowance,
    optsOut: weighted<NamespaceCase['optsOut']>([12, 'no'], [1, 'namespace'], [1, 'quota']),
  });

const aCase: fc.Arbitrary<PreflightCase> = rarely(2).chain((isOld) =>
  fc.record({
    task: weighted<PreflightCase['task']>([5, 'node'], [4, 'upgrade'], [2, 'namespace']),
    limits: fc.record({ cluster: fc.integer({ min: 1, max: 5 }), node: fc.integer({ min: 1, max: 3 }) }),
    overheadRatio: weighted<string | undefined>([3, undefined], [1, '1.5'], [1, '1.337']),
    isOld: fc.constant(isOld),
    upgrade: fc.record({ more: fc.constantFrom('0', '20Mi', '46Mi', '64Mi'), isKnown: rarely(7) }),
    namespaces: fc.array(aNamespace(isOld), { minLength: 1, maxLength: 3 }),
    clusterWide: fc
      .record({
        allowance: anAllowance,
        purposes: fc.oneof(
          { weight: 2, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.subarray([...PURPOSES], { minLength: 1 }) },
        ),
      })
      .map(({ allowance, purposes }) => ({ ...allowance, purposes })),
  }),
);

/** Drawn apart from the case, which must have its VMs first. */
const anUnknown = fc.record({
  unknown: weighted<VmCase['unknown']>(
    [5, 'no'],
    [1, 'external eviction'],
    [2, 'no launcher'],
    [2, 'other cluster'],
  ),
  /** Which VM is the unknown one. */
  at: fc.nat({ max: 99 }),
});

/** The case of a seed. */
export function caseOf(seed: number): PreflightCase {
  const { namespaces, ...rest } = sampleOf(aCase, seed);
  const { unknown, at } = sampleOf(anUnknown, seed);
  const external = unknown === 'external eviction' ? { strategy: 'External' } : {};
  return {
    ...rest,
    namespaces: namespaces.map((each, index) => ({
      ...each,
      vms: each.vms.map((vm, place) =>
        index === at % namespaces.length && place === at % each.vms.length
          ? { ...vm, unknown, ...external }
          : vm,
      ),
    })),
  };
}

function sampleOf<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  const [only] = fc.sample(arbitrary, { numRuns: 1, seed });
  if (only === undefined) throw new Error('one run has one sample');
  return only;
}
