import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { PODS } from '../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../cluster/controlplane/start.ts';

const TARGETS = `${KUBEVIRT.launcherLabel}=${KUBEVIRT.launcher},${KUBEVIRT.migrationJobUID}`;

export interface Pauses {
  /** For how many target pods the controllers were paused. */
  readonly count: number;
  /** Resolves when the controllers run again, for good. */
  stop(): Promise<void>;
}

/** Pauses kube-controller-manager for `ms` at each new target pod, so that status.hard stays raised for that long. */
export function pauseAtTargets(admin: Cluster, controlPlane: ControlPlane, ms: number): Pauses {
  const over = new AbortController();
  const seen = new Set<string>();
  let count = 0;
  let until = 0;
  let timer: NodeJS.Timeout | undefined;
  const resume = (): void => {
    const leftMs = until - performance.now();
    timer = leftMs > 0 ? setTimeout(resume, leftMs) : undefined;
    if (timer === undefined) controlPlane.resumeControllerManager();
  };
  const pause = (uid: string): void => {
    if (seen.has(uid)) return;
    seen.add(uid);
    until = performance.now() + ms;
    void controlPlane.pauseControllerManager().then(() => (count += 1));
    timer ??= setTimeout(resume, ms);
  };
  const following = follow(
    admin,
    { type: PODS, where: { labelSelector: TARGETS }, signal: over.signal },
    {
      onList: (pods) => pods.forEach(({ metadata }) => seen.add(metadata.uid)),
      onChange: ({ metadata }) => pause(metadata.uid),
      onGone: () => undefined,
      onError: () => undefined,
    },
  );
  return {
    get count() {
      return count;
    },
    stop: async () => {
      over.abort();
      await following;
      clearTimeout(timer);
      controlPlane.resumeControllerManager();
    },
  };
}
