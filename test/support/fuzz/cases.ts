import fc from 'fast-check';
import type { RaisePolicy, ScopeSelectorTerm } from '../../../functions/domain/objects.ts';

/** One random namespace as plain data: a running VM, the changes since its start, quotas, and allowances. */
export interface FuzzCase {
  readonly vm: VmOf;
  readonly change: Change;
  readonly quotas: readonly QuotaOf[];
  readonly gives: readonly AllowanceCase[];
  readonly policy: Policy;
  /** virt-controller's Event has expired (after an hour): only without changes since the VM's start. */
  readonly eventLost: boolean;
}

/** Other admission plugins that check the pod. */
export type Policy = 'none' | 'podSecurity' | 'defaults' | 'maximum';

/** Differences of the target pod. `noAutoLimits`: a KubeVirt that does not add limits by itself. */
export type Change = 'nothing' | 'cpu' | 'memory' | 'upgrade' | 'noAutoLimits';

export interface VmOf {
  readonly cpu: number;
  readonly memory: string;
  readonly limited: boolean;
  readonly kind: 'plain' | 'devices' | 'bestEffort' | 'whole';
  readonly priority: 'high' | 'low' | undefined;
  readonly deadline: boolean;
  readonly across: boolean;
  readonly overhead: boolean;
  readonly hook: 'none' | 'limited' | 'unlimited';
  readonly bigInit: boolean;
}

/** A key's headroom, relative to the target pod's need. */
export type Slack = 'roomy' | 'exact' | 'short' | 'none' | 'over';

export interface QuotaOf {
  readonly scope: keyof typeof SCOPES;
  readonly keys: readonly { readonly key: string; readonly slack: Slack; readonly part: number }[];
}

/** A VMMRQ's allowance for each key, relative to the shortfall, in the order of KEYS. */
export interface AllowanceCase {
  readonly each: readonly ('plenty' | 'exact' | 'oneLess' | 'nothing')[];
  readonly percent: number | undefined;
  readonly policy: RaisePolicy | undefined;
}

export const POD_KEYS = [
  ...[
    'pods',
    'count/pods',
    'cpu',
    'requests.cpu',
    'limits.cpu',
    'memory',
    'requests.memory',
    'limits.memory',
  ],
  ...['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage'],
  ...[
    'hugepages-2Mi',
    'requests.hugepages-2Mi',
    'requests.nvidia.com/gpu',
    'requests.devices.kubevirt.io/tun',
  ],
];
export const OTHER_KEYS = ['requests.storage', 'persistentvolumeclaims', 'services', 'count/configmaps'];
/** The keys that the API server allows in a quota with a scope (pkg/apis/core/helper, IsResourceQuotaScopeValidForResource). */
export const SCOPED_KEYS = [
  ...['pods', 'count/pods', 'cpu', 'requests.cpu', 'limits.cpu'],
  ...['memory', 'requests.memory', 'limits.memory', 'requests.nvidia.com/gpu'],
];

const term = (
  scopeName: string,
  operator: ScopeSelectorTerm['operator'],
  ...values: string[]
): ScopeSelectorTerm => ({ scopeName, operator, ...(values.length === 0 ? {} : { values }) });

export const SCOPES = {
  none: [],
  Terminating: [term('Terminating', 'Exists')],
  NotTerminating: [term('NotTerminating', 'Exists')],
  BestEffort: [term('BestEffort', 'Exists')],
  NotBestEffort: [term('NotBestEffort', 'Exists')],
  'PriorityClass Exists': [term('PriorityClass', 'Exists')],
  'PriorityClass DoesNotExist': [term('PriorityClass', 'DoesNotExist')],
  'PriorityClass In': [term('PriorityClass', 'In', 'high')],
  'PriorityClass NotIn': [term('PriorityClass', 'NotIn', 'high')],
  CrossNamespacePodAffinity: [term('CrossNamespacePodAffinity', 'Exists')],
  'NotTerminating and NotBestEffort': [term('NotTerminating', 'Exists'), term('NotBestEffort', 'Exists')],
} satisfies Record<string, ScopeSelectorTerm[]>;

export const weighted = <T>(...choices: readonly (readonly [number, T])[]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

export const rarely = (times: number): fc.Arbitrary<boolean> => weighted([times, true], [10 - times, false]);

export const aVm: fc.Arbitrary<VmOf> = fc.record({
  cpu: fc.integer({ min: 1, max: 3 }),
  memory: fc.constantFrom('512Mi', '1Gi', '3Gi'),
  limited: fc.boolean(),
  kind: weighted([5, 'plain'], [2, 'devices'], [2, 'bestEffort'], [1, 'whole']),
  priority: weighted([5, undefined], [3, 'high' as const], [2, 'low' as const]),
  deadline: rarely(2),
  across: rarely(2),
  overhead: rarely(2),
  hook: weighted([7, 'none'], [2, 'limited'], [1, 'unlimited']),
  bigInit: rarely(2),
});

const aSlack = weighted<Slack>([5, 'roomy'], [2, 'exact'], [5, 'short'], [2, 'none'], [1, 'over']);

const keysOf = (keys: readonly string[]): fc.Arbitrary<QuotaOf['keys']> =>
  fc.uniqueArray(
    fc.record({ key: fc.constantFrom(...keys), slack: aSlack, part: fc.integer({ min: 1, max: 99 }) }),
    { minLength: 1, maxLength: 5, selector: ({ key }) => key },
  );

const scopeNames = Object.keys(SCOPES) as (keyof typeof SCOPES)[];
const aQuota: fc.Arbitrary<QuotaOf> = fc
  .oneof(
    { weight: 2, arbitrary: fc.constant('none' as const) },
    { weight: 3, arbitrary: fc.constantFrom(...scopeNames.filter((name) => name !== 'none')) },
  )
  .chain((scope) => {
    const scoped = scope === 'BestEffort' ? ['pods', 'count/pods'] : SCOPED_KEYS;
    const keys = keysOf(scope === 'none' ? [...POD_KEYS, ...OTHER_KEYS] : scoped);
    return fc.record({ scope: fc.constant(scope), keys });
  });

const anAllowance: fc.Arbitrary<AllowanceCase> = fc.record({
  each: fc.oneof(
    { weight: 5, arbitrary: fc.constant(POD_KEYS.map(() => 'plenty' as const)) },
    { weight: 3, arbitrary: fc.constant(POD_KEYS.map(() => 'exact' as const)) },
    {
      weight: 3,
      arbitrary: fc.array(
        weighted(
          [6, 'plenty' as const],
          [4, 'exact' as const],
          [2, 'oneLess' as const],
          [1, 'nothing' as const],
        ),
        { minLength: POD_KEYS.length, maxLength: POD_KEYS.length },
      ),
    },
  ),
  percent: weighted([6, undefined], [1, 5], [1, 30], [1, 100]),
  policy: weighted<RaisePolicy | undefined>([1, undefined], [1, 'Fixed'], [3, 'Exact']),
});

const aCase: fc.Arbitrary<FuzzCase> = fc
  .record({
    vm: aVm,
    change: weighted<Change>([12, 'nothing'], [2, 'cpu'], [2, 'memory'], [2, 'upgrade'], [1, 'noAutoLimits']),
    quotas: fc.array(aQuota, { minLength: 1, maxLength: 4 }),
    gives: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      { weight: 9, arbitrary: fc.array(anAllowance, { minLength: 1, maxLength: 2 }) },
    ),
    policy: weighted<Policy>([16, 'none'], [1, 'podSecurity'], [3, 'defaults'], [1, 'maximum']),
    eventLost: rarely(2),
  })
  .map((each) => ({
    ...each,
    eventLost: each.eventLost && each.change === 'nothing' && each.policy === 'none',
  }));

export const fuzzCases = (count: number, seed: number): FuzzCase[] =>
  fc.sample(aCase, { numRuns: count, seed });
