import {
  canonicalKey,
  isChargedByPods,
  sumOf,
  type Amounts,
} from '../../../functions/domain/quota/charged.ts';
import { quotaCoversPod } from '../../../functions/domain/quota/scopes.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import type {
  LimitRangeItem,
  Pod,
  ResourceList,
  ResourceQuota,
  Vmmrq,
} from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import {
  CLAIMS,
  LIMIT_RANGES,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import type { Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { SCOPES } from '../fuzz/cases.ts';
import type { Clusters } from '../fuzz/world.ts';
import { createNamespace } from '../kubevirt/harness.ts';
import type { Allowance, LimitRangeCase, NamespaceCase, QuotaCase } from './cases.ts';
import { countOf, untilCounted } from './counted.ts';
import { createOrRefusal, isRefusal } from './refusal.ts';
import { RunningVm, type Renderer } from './running-vm.ts';

export interface TenantOptions {
  readonly of: NamespaceCase;
  readonly name: string;
  /** The nodes' names. */
  readonly nodes: readonly string[];
  /** KubeVirt when the VMs started, and when they migrate. */
  readonly before: Renderer;
  readonly now: Renderer;
}

/** A pod that a migration will need, and the quotas' scopes look at. */
type Needed = readonly { readonly pod: Pod; readonly need: Amounts }[];

/** A random namespace with running VMs, limits, quotas and VMMRQs. */
export class FuzzTenant {
  readonly of: NamespaceCase;
  readonly name: string;
  readonly vms: readonly RunningVm[];
  /** For the VM that lacks most, by canonical key. */
  readonly missing: Amounts;

  private constructor({ of, name }: TenantOptions, vms: readonly RunningVm[], missing: Amounts) {
    this.of = of;
    this.name = name;
    this.vms = vms;
    this.missing = missing;
  }

  static async start(options: TenantOptions, clusters: Clusters): Promise<FuzzTenant> {
    const { of, name: namespace, nodes, before, now } = options;
    const { admin } = clusters;
    await createNamespace(admin, namespace);
    await limit(clusters, namespace, of.limitRange, 'before');
    const vms: RunningVm[] = [];
    for (const [index, vm] of of.vms.entries()) {
      const at = { of: vm, namespace, name: `vm${String(index)}`, node: nodes[vm.node] ?? '' };
      const started = await RunningVm.start(at, clusters, before);
      await started.becomeUnknown();
      vms.push(started);
    }
    await limit(clusters, namespace, of.limitRange, 'after');
    const needed = await Promise.all(vms.map((vm) => neededBy(vm, { of, clusters, by: now })));
    const missing = await createQuotas(options, clusters, needed);
    await limit(clusters, namespace, of.limitRange, 'last');
    const spec = specOf(of.gives, missing);
    if (spec !== undefined) await admin.create(VMMRQS, { metadata: { namespace, name: 'more' }, spec });
    if (of.optsOut === 'namespace') {
      const metadata = { annotations: { [ANNOTATION.skip]: 'true' } };
      await admin.patch(NAMESPACES, { name: namespace }, { merge: { metadata } });
    }
    await untilCounted(admin, namespace);
    return new FuzzTenant(options, vms, missing);
  }
}

const RANGES: Readonly<
  Record<LimitRangeCase, readonly ['before' | 'after' | 'last' | 'never', LimitRangeItem]>
> = {
  none: ['never', { type: 'Container' }],
  'defaults before': [
    'before',
    {
      type: 'Container',
      default: { cpu: '4', memory: '8Gi' },
      defaultRequest: { 'ephemeral-storage': '1M' },
    },
  ],
  'defaults after': [
    'after',
    {
      type: 'Container',
      default: { cpu: '6', memory: '9Gi' },
      defaultRequest: { 'ephemeral-storage': '2M' },
    },
  ],
  'maximum of containers': ['last', { type: 'Container', max: { memory: '4Gi' } }],
  'maximum of pods': ['last', { type: 'Pod', max: { cpu: '3' } }],
  minimum: ['last', { type: 'Container', min: { cpu: '8m' } }],
  ratio: ['last', { type: 'Container', maxLimitRequestRatio: { cpu: '3' } }],
};

async function limit(
  { admin }: Clusters,
  namespace: string,
  ...[of, when]: [LimitRangeCase, 'before' | 'after' | 'last']
): Promise<void> {
  const [at, item] = RANGES[of];
  if (at !== when) return;
  await admin.create(LIMIT_RANGES, { metadata: { namespace, name: 'range' }, spec: { limits: [item] } });
}

/** As the API server completes the pods, before any quota exists; without a pod that it refuses. */
async function neededBy(
  vm: RunningVm,
  { of, clusters, by }: { readonly of: NamespaceCase; readonly clusters: Clusters; readonly by: Renderer },
): Promise<Needed> {
  const { virtController } = clusters;
  const migration = { metadata: { name: 'none', uid: 'none' }, spec: {} } as Vmim;
  const pods = [
    vm.target(migration, of.quotas.map(withKeysOf), by),
    ...(vm.of.hotplug ? [vm.targetAttachment(vm.source, migration)] : []),
  ];
  const made = await Promise.all(
    pods.map((pod) =>
      createOrRefusal(clusters.admin, '', () => virtController.create(PODS, pod, { dryRun: true })),
    ),
  );
  return made.flatMap((each) => (isRefusal(each) ? [] : [{ pod: each.object, need: podUsage(each.object) }]));
}

const withKeysOf = ({ keys }: QuotaCase): ResourceQuota =>
  ({ spec: { hard: Object.fromEntries(keys.map(({ key }) => [key, '0'])) } }) as unknown as ResourceQuota;

/** Resolves to what is missing for the VM that lacks most, by canonical key. */
async function createQuotas(
  { of, name: namespace }: TenantOptions,
  { admin }: Clusters,
  needed: readonly Needed[],
): Promise<Amounts> {
  const [{ items: pods }, { items: claims }] = await Promise.all([
    admin.list(PODS, { namespace }),
    admin.list(CLAIMS, { namespace }),
  ]);
  const missing = new Map<string, Amount>();
  for (const [index, quota] of of.quotas.entries()) {
    const spec = { ...scopeOf(quota), hard: {} };
    const covered = needed.map((each) =>
      sumOf(each.filter(({ pod }) => quotaCoversPod({ spec } as ResourceQuota, pod)).map(({ need }) => need)),
    );
    const hard: ResourceList = {};
    for (const { key, percent } of quota.keys) {
      const used = countOf({ spec }, key, { pods, claims });
      const largest = greatest(covered.map((need) => need.get(canonicalKey(key)) ?? 0n));
      const headroom = headroomOf(key, percent, largest);
      hard[key] = formatQuantity(used + headroom < 0n ? 0n : used + headroom);
      if (isChargedByPods(key)) raiseTo(missing, canonicalKey(key), largest - headroom);
    }
    const annotations = of.optsOut === 'quota' && index === 0 ? { [ANNOTATION.skip]: 'true' } : {};
    const metadata = { namespace, name: `quota${String(index)}`, annotations };
    await admin.create(RESOURCE_QUOTAS, { metadata, spec: { ...spec, hard } });
  }
  return missing;
}

const scopeOf = ({ scope }: QuotaCase): Pick<ResourceQuota['spec'], 'scopeSelector'> => {
  const matchExpressions = SCOPES[scope];
  return matchExpressions.length === 0 ? {} : { scopeSelector: { matchExpressions } };
};

const ONE = parseQuantity('1');
const unitOf = (key: string): Amount => (canonicalKey(key).endsWith('.cpu') ? parseQuantity('1m') : ONE);

/** Of claims and of other objects: for one more, or for none. */
function headroomOf(key: string, percent: number, largest: Amount): Amount {
  if (key === 'services' || key === 'count/configmaps') return parseQuantity('100');
  if (key === 'persistentvolumeclaims') return percent >= 100 ? ONE : 0n;
  if (key === 'requests.storage') return percent >= 100 ? parseQuantity('10Mi') : parseQuantity('9Mi');
  const size = largest > 0n ? largest : 10n * unitOf(key);
  return ((size * BigInt(percent)) / 100n / unitOf(key)) * unitOf(key);
}

const greatest = (amounts: readonly Amount[]): Amount =>
  amounts.reduce((max, each) => (each > max ? each : max), 0n);

function raiseTo(most: Map<string, Amount>, key: string, amount: Amount): void {
  if (amount > (most.get(key) ?? 0n)) most.set(key, amount);
}

/** undefined: no VMMRQ. */
export function specOf({ amount, percent }: Allowance, missing: Amounts): Vmmrq['spec'] | undefined {
  if (amount === 'none') return undefined;
  const list: ResourceList = { pods: '0' };
  for (const [key, lacks] of missing) {
    const given = {
      nothing: 0n,
      oneLess: lacks - unitOf(key),
      exact: lacks,
      plenty: 3n * lacks + (1n << 33n) * ONE,
    }[amount];
    list[key] = formatQuantity(given > 0n ? given : 0n);
  }
  return {
    additionalMigrationResources: list,
    ...(percent === undefined ? {} : { additionalMigrationPercentage: `${String(percent)}%` }),
  };
}

/** The greatest amounts of several namespaces. */
export function mostOf(lists: readonly Amounts[]): Amounts {
  const most = new Map<string, Amount>();
  for (const [key, amount] of lists.flatMap((list) => [...list])) raiseTo(most, key, amount);
  return most;
}
