/** What virt-controller reports about a running guest: whether its launcher is outdated, and whether it is to be evicted. Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { isMarked } from '../virt-api/eviction-review.ts';
import { ANNOTATIONS, EVICTION_REQUESTED, LABELS } from '../objects/names.ts';
import { imageOf } from '../objects/pods.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';
import type { Merge, VmiDecision, VmiView } from './view.ts';

/** On the launcher first, as the real one does it, then on the VMI. */
export function reportsOf({ vmi, current, release, now }: VmiView): VmiDecision | undefined {
  if (vmi.status?.phase !== 'Running' || current === undefined) return undefined;
  const image = imageOf(current);
  const isOutdated = image !== '' && image !== release.launcherImage;
  const onPod = launcherPatch(current, { isOutdated, isEvicted: isMarked(vmi) });
  if (onPod !== undefined) return { do: 'patch-pod', pod: current, merge: { metadata: onPod } };
  const merge = vmiPatch(vmi, { image, isOutdated, now });
  return merge === undefined ? undefined : { do: 'patch', merge };
}

function launcherPatch(
  { metadata }: LauncherPod,
  { isOutdated, isEvicted }: { readonly isOutdated: boolean; readonly isEvicted: boolean },
): Merge | undefined {
  const label = metadata.labels?.[LABELS.outdated];
  if ((label !== undefined) !== isOutdated) {
    return { labels: { [LABELS.outdated]: isOutdated ? '' : null } };
  }
  const annotation = metadata.annotations?.[ANNOTATIONS.evictionInProgress];
  if ((annotation !== undefined) === isEvicted) return undefined;
  return { annotations: { [ANNOTATIONS.evictionInProgress]: isEvicted ? 'true' : null } };
}

interface Report {
  readonly image: string;
  readonly isOutdated: boolean;
  readonly now: string;
}

function vmiPatch(vmi: Vmi, { image, isOutdated, now }: Report): Merge | undefined {
  const { labels, resourceVersion } = vmi.metadata;
  const status = { ...imagePatch(vmi, image), ...conditionsPatch(vmi, now) };
  const label =
    (labels?.[LABELS.outdated] !== undefined) === isOutdated
      ? {}
      : { labels: { [LABELS.outdated]: isOutdated ? '' : null } };
  if (Object.keys(status).length + Object.keys(label).length === 0) return undefined;
  // The precondition is the version that was seen: conditions are a list, and another writer's must not be lost.
  return { metadata: { resourceVersion, ...label }, status };
}

const imagePatch = ({ status }: Vmi, image: string): Merge =>
  image === '' || status?.launcherContainerImageVersion === image
    ? {}
    : { launcherContainerImageVersion: image };

function conditionsPatch(vmi: Vmi, now: string): Merge {
  const conditions = vmi.status?.conditions ?? [];
  const others = conditions.filter(({ type }) => type !== EVICTION_REQUESTED);
  const isReported = others.length < conditions.length;
  if (isReported === isMarked(vmi)) return {};
  const requested: Condition = {
    type: EVICTION_REQUESTED,
    status: 'True',
    reason: EVICTION_REQUESTED,
    message: 'VMI is marked for eviction',
    lastProbeTime: now,
    lastTransitionTime: now,
  };
  return { conditions: isMarked(vmi) ? [...others, requested] : others };
}
