/** The releases of KubeVirt that the stand-in can play. Pure. */

/** One release, as far as its controllers and launchers differ from another's. */
export interface Release {
  /** "v1.9.0" */
  readonly version: string;
  /** KubeVirt's id of a deployment: the CR's status has the one that runs and the one that is wanted. */
  readonly deploymentId: string;
  /** Image of the launchers that its virt-controller creates. */
  readonly launcherImage: string;
  /** What a launcher needs more than one of the first release, before the CR's ratio (facts/kubevirt.md §2.1, version drift). */
  readonly moreOverhead: string;
  /** Whether a migration has spec.priority, which only KubeVirt's own accounts may set: since 1.7 (facts/kubevirt.md §1.5). */
  readonly hasPriority: boolean;
}

const PRIORITY_SINCE = 7;

/** A release by its version: "v1.6.2" has no priorities. */
export function releaseOf(version: string, changes: Partial<Release> = {}): Release {
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1]);
  return {
    version,
    deploymentId: `deployment-${version}`,
    launcherImage: `registry.example/kubevirt/virt-launcher:${version}`,
    moreOverhead: '0',
    hasPriority: minor >= PRIORITY_SINCE,
    ...changes,
  };
}

/** The release of the recorded histories. */
export const RELEASE = releaseOf('v1.9.0');
