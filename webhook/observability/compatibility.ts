import type { GuardSettings } from '../../functions/runtime/settings.ts';

/** The oldest supported versions; docs/installing.md lists them too. */
export const OLDEST = { kubernetes: '1.30', knative: '1.17', kubevirt: '1.0' } as const;

/** Facts about the cluster. A missing field could not be read, or the cluster does not have it. */
export interface ClusterFacts {
  /** The version from `GET /version`, such as "v1.34.1". */
  readonly kubernetes?: string;
  /** The version from the label app.kubernetes.io/version of the namespaces knative-serving and knative-eventing. */
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
  /** A sentence for each incompatibility. Facts that could not be read add none. */
  readonly problems: readonly string[];
  /** Facts that are not known yet. */
  readonly unknown: readonly string[];
}

/** Whether the guard can work in this cluster. Pure. An unknown fact is no problem: the guard still protects and repairs. */
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

/** The numbers of "v1.30.2", "1.17.0" or "v1.31.4-gke.100"; undefined for "devel" and any other text that is not a version. */
function numbersOf(version: string | undefined): { major: number; minor: number } | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

/** KubeVirt's service account creates migration pods. With the wrong namespace, admission would refuse all of them. */
function otherNamespace({ kubevirts = [] }: ClusterFacts, { KUBEVIRT_NAMESPACE }: Expected): string[] {
  const [other] = kubevirts;
  if (other === undefined || kubevirts.some(({ namespace }) => namespace === KUBEVIRT_NAMESPACE)) return [];
  return [
    `KUBEVIRT_NAMESPACE is ${KUBEVIRT_NAMESPACE}, but KubeVirt ${other.name} is in namespace ${other.namespace}: ` +
      'see docs/operations.md, KubeVirt elsewhere',
  ];
}

/** Checks only a deployed KubeVirt: before, its service account does not exist yet. */
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
