import type { GuardSettings } from '../../functions/runtime/settings.ts';

/** The oldest versions that we support; docs/installing.md has the same. */
export const OLDEST = { kubernetes: '1.30', knative: '1.17', kubevirt: '1.0' } as const;

/** What we find in the cluster. Left out: it could not be read, or does not say. */
export interface ClusterFacts {
  /** As `GET /version` says, "v1.34.1". */
  readonly kubernetes?: string;
  /** As the namespaces knative-serving and knative-eventing say by their label app.kubernetes.io/version. */
  readonly serving?: string;
  readonly eventing?: string;
  /** Every KubeVirt of the cluster; its version once it is deployed. */
  readonly kubevirts?: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly version?: string;
  }[];
  /** Whether KUBEVIRT_NAMESPACE has the service account KUBEVIRT_CONTROLLER. */
  readonly hasController?: boolean;
}

export type Expected = Pick<
  GuardSettings,
  'KUBEVIRT_NAMESPACE' | 'KUBEVIRT_CONTROLLER' | 'OLDEST_KUBERNETES'
>;

export interface CompatibilityResult {
  /** Each a sentence: what cannot work. Nothing is here that was not read. */
  readonly problems: readonly string[];
  /** What nobody could tell yet. */
  readonly unknown: readonly string[];
}

/** Whether we can work here. Pure. What is not known is no problem: who cannot read a version still guards and repairs. */
export function evaluate(found: ClusterFacts, expected: Expected): CompatibilityResult {
  const own = found.kubevirts?.find(({ namespace }) => namespace === expected.KUBEVIRT_NAMESPACE);
  const versions: readonly ComponentVersion[] = [
    { of: 'Kubernetes', found: found.kubernetes, oldest: expected.OLDEST_KUBERNETES },
    { of: 'Knative Serving', found: found.serving, oldest: OLDEST.knative },
    { of: 'Knative Eventing', found: found.eventing, oldest: OLDEST.knative },
    { of: 'KubeVirt', found: own?.version, oldest: OLDEST.kubevirt },
  ];
  return {
    problems: [
      ...versions.flatMap(tooOld),
      ...otherNamespace(found, expected),
      ...noController(found, expected),
    ],
    unknown: versions.filter(({ found }) => numbersOf(found) === undefined).map(({ of }) => of),
  };
}

interface ComponentVersion {
  readonly of: string;
  readonly found: string | undefined;
  readonly oldest: string;
}

function tooOld({ of, found, oldest }: ComponentVersion): string[] {
  const [is, min] = [numbersOf(found), numbersOf(oldest)];
  if (is === undefined || min === undefined) return [];
  const isOlder = is.major < min.major || (is.major === min.major && is.minor < min.minor);
  return isOlder ? [`${of} is ${found ?? ''}: ${oldest} is the oldest that is supported`] : [];
}

/** "v1.30.2", "1.17.0", "v1.31.4-gke.100"; undefined for "devel" and whatever else is no version. */
function numbersOf(version: string | undefined): { major: number; minor: number } | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

/** Pods of migrations come by KubeVirt's own service account: from another namespace all of them would be refused. */
function otherNamespace({ kubevirts = [] }: ClusterFacts, { KUBEVIRT_NAMESPACE }: Expected): string[] {
  const [other] = kubevirts;
  if (other === undefined || kubevirts.some(({ namespace }) => namespace === KUBEVIRT_NAMESPACE)) return [];
  return [
    `KUBEVIRT_NAMESPACE is ${KUBEVIRT_NAMESPACE}, but KubeVirt ${other.name} is in namespace ${other.namespace}: ` +
      'see docs/operations.md, KubeVirt elsewhere',
  ];
}

/** Only where KubeVirt is deployed: before, there is no such account yet. */
function noController({ kubevirts = [], hasController }: ClusterFacts, expected: Expected): string[] {
  const { KUBEVIRT_NAMESPACE, KUBEVIRT_CONTROLLER } = expected;
  const isDeployed = kubevirts.some(
    ({ namespace, version }) => namespace === KUBEVIRT_NAMESPACE && version !== undefined,
  );
  if (!isDeployed || hasController !== false) return [];
  return [
    `KUBEVIRT_CONTROLLER is ${KUBEVIRT_CONTROLLER}: namespace ${KUBEVIRT_NAMESPACE} has no such service account`,
  ];
}
