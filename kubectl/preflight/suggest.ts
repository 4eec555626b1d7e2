import { KIND, type Purpose } from '../../functions/domain/names.ts';
import type { AmountList, ClusterVmmrq, Vmmrq } from '../../functions/domain/objects.ts';
import { inForce } from '../../functions/domain/policy/policy.ts';
import { sumOf, type Amounts } from '../../functions/domain/quota/charged.ts';
import { formatAmount, roundForPeople, type Amount } from '../../functions/domain/quantity.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import { isGiveable } from './outcome.ts';
import { preflight, type Report } from './preflight.ts';
import { purposeOfTask, type Task } from './task.ts';
import { missingIn } from './worst-case.ts';

/** A VMMRQ to create, as a manifest. */
export type Manifest = Pick<Vmmrq | ClusterVmmrq, 'apiVersion' | 'kind' | 'spec'> & {
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

/** The kind of VMMRQ. */
export type ManifestKind = 'vmmrq' | 'cvmmrq';

export interface Suggestion {
  /** The VMMRQs to create; empty: giving more helps no VM. */
  readonly manifests: readonly Manifest[];
  /** The report as it would be with these manifests. */
  readonly report: Report;
  /** The cluster as it would be with them. */
  readonly facts: ClusterFacts;
}

/**
 * Maximum number of rounds. The amounts are enough for each VM to go last; where something else is in the way too, another round may
 * find more.
 */
const MAX_ROUNDS = 3;

/**
 * Finds the least that lets every VM pass that only lacks what a VMMRQ may give, in whatever order they go, and the report with it:
 * the suggestion is checked by the same decision; pure. `before`: the report on these facts.
 */
export function suggest(before: Report, facts: ClusterFacts, kind: ManifestKind): Suggestion {
  const { task } = before;
  const taken = (namespace: string | undefined): string[] =>
    (namespace === undefined ? facts.state.clusterVmmrqs : facts.state.vmmrqs)
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(({ metadata }) => metadata.name);
  const amounts = new Map<string, Amounts>();
  let cluster = facts;
  let suggestion: Suggestion = { manifests: [], report: before, facts };
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const { report } = suggestion;
    const short = new Set(report.vms.filter(isGiveable).map(({ namespace }) => namespace));
    if (short.size === 0) break;
    for (const each of cluster.namespaces) {
      const { name } = each.namespace.metadata;
      if (!short.has(name)) continue;
      amounts.set(name, sumOf([amounts.get(name) ?? new Map(), missingIn(each, { cluster, report })]));
    }
    const purpose = purposeOfTask(task, facts.state.kubevirt);
    const manifests = manifestsFor(task, amounts, { kind, taken, purpose });
    cluster = withManifests(facts, manifests);
    suggestion = { manifests, report: preflight(task, cluster), facts: cluster };
  }
  return suggestion;
}

interface ManifestRules {
  readonly kind: ManifestKind;
  readonly purpose: Purpose;
  /** Names in use; of cluster-wide VMMRQs by default. */
  readonly taken: (namespace?: string) => readonly string[];
}

/**
 * A cluster-wide VMMRQ for all namespaces, or one in each: a user without the right to write the former may have the right to write
 * the latter.
 */
function manifestsFor(
  task: Task,
  amounts: ReadonlyMap<string, Amounts>,
  { kind, taken, purpose }: ManifestRules,
): Manifest[] {
  const short = [...amounts].filter(([, each]) => each.size > 0);
  const name = nameOf(task);
  if (kind === 'vmmrq')
    return short.map(([namespace, each]) => ({
      ...KIND.vmmrq,
      metadata: { name: unusedNames(name, taken(namespace), 1)[0] ?? name, namespace },
      spec: giving(each, purpose),
    }));
  const chunks = chunksOf(short, MAX_VALUES);
  const names = unusedNames(name, taken(), chunks.length);
  return chunks.map((chunk, index) => ({
    ...KIND.clusterVmmrq,
    metadata: {
      name: names[index] ?? name,
    },
    spec: {
      namespaceSelector: {
        matchExpressions: [
          {
            key: 'kubernetes.io/metadata.name',
            operator: 'In',
            values: chunk.map(([namespace]) => namespace).toSorted(),
          },
        ],
      },
      ...giving(greatest(chunk.map(([, each]) => each)), purpose),
    },
  }));
}

/** Maximum that config/crd allows in a selector. */
const MAX_VALUES = 100;

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

function nameOf(task: Task): string {
  if (task.kind === 'upgrade') return 'upgrade';
  if (task.kind === 'namespace') return `preflight-${task.namespace}`;
  return task.nodes.length === 1 ? `drain-${task.nodes.join('')}` : 'drain';
}

/** Names that no VMMRQ has: a VMMRQ that replaces another may give less. */
function unusedNames(name: string, taken: readonly string[], count: number): string[] {
  const names: string[] = [];
  for (let number = 1; names.length < count; number += 1) {
    const next = number === 1 ? name : `${name}-${String(number)}`;
    if (!taken.includes(next)) names.push(next);
  }
  return names;
}

const giving = (amounts: Amounts, purpose: Purpose): Vmmrq['spec'] => ({
  purposes: [purpose],
  raisePolicy: 'Exact',
  additionalMigrationResources: listOf(amounts),
});

const listOf = (amounts: Amounts): AmountList =>
  Object.fromEntries(
    [...amounts].toSorted().map(([key, amount]) => [key, formatAmount(key, roundForPeople(key, amount))]),
  );

function greatest(lists: readonly Amounts[]): Amounts {
  const max = new Map<string, Amount>();
  for (const [key, amount] of lists.flatMap((list) => [...list])) {
    if (amount > (max.get(key) ?? 0n)) max.set(key, amount);
  }
  return max;
}

/** The cluster as it would be once these manifests are created. */
function withManifests(facts: ClusterFacts, manifests: readonly Manifest[]): ClusterFacts {
  const made = manifests.map(asStored);
  const givenIn = ({ namespace, vmmrqs }: NamespaceFacts): Vmmrq[] => {
    const { name, labels } = namespace.metadata;
    const own = made.filter(({ metadata }) => (metadata.namespace ?? name) === name);
    return [...vmmrqs, ...inForce(own, labels)];
  };
  return { ...facts, namespaces: facts.namespaces.map((each) => ({ ...each, vmmrqs: givenIn(each) })) };
}

const asStored = ({ metadata, ...manifest }: Manifest): Vmmrq | ClusterVmmrq => ({
  ...manifest,
  metadata: {
    ...metadata,
    uid: `suggested-${metadata.name}`,
    resourceVersion: '0',
    creationTimestamp: new Date(0).toISOString(),
  },
});
