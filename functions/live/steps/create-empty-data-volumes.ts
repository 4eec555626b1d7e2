import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import {
  DONE,
  fail,
  waitUntil,
  write,
  type LiveWrite,
  type NewObject,
  type StepDecision,
} from '../run/decision.ts';
import type { DataVolume } from '../../domain/live/kubevirt.ts';
import { LIVE_KIND, LIVE_REASON } from '../../domain/live/names.ts';
import { isOfRun } from '../run/names.ts';
import type { RecordedRun, SourceSetup, TargetSetup } from '../run/snapshot.ts';
import { waitAtMost } from '../run/waiting-since.ts';
import { missingForVolumes } from '../on-target/volume-quota.ts';
import {
  claimToBind,
  inTheWay,
  neededVolumes,
  pendingMessage,
  readiness,
  targetVolume,
  type NewVolume,
} from '../on-target/volumes.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { unusable } from './ensure-resources.ts';

/**
 * Creates the VM's volumes on the target, empty. If populators fill them, they are not bound before the launcher uses them, so that it may
 * run on any node.
 */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, target, hub } = snapshot;
  if (source.setup === undefined || target.setup === undefined || target.vm !== undefined) return DONE;
  const wanted = wantedVolumes(snapshot, source.setup, target.setup);
  if (wanted.kind === 'fail') return wanted;
  const { volumes, quotas } = target.setup;
  const foreign = wanted.objects.flatMap((object) => foreignVolume(object, volumes, snapshot) ?? []);
  const [first] = foreign;
  if (first !== undefined) return fail(LIVE_REASON.volumeFailed, inTheWay(first, snapshot.run.vm));
  const missing = wanted.objects.filter((object) => found(object, volumes) === undefined);
  const lacks = missingForVolumes(missing, quotas);
  if (lacks !== '') {
    const message = `the volumes do not fit on the target: ${lacks}. Increase the quota`;
    return waitAtMost(LIMIT_MS.busy, hub, { reason: LIVE_REASON.overQuota, message });
  }
  if (missing.length > 0)
    return write(
      `creating ${missing.map(({ metadata }) => metadata.name).join(', ')} on the target`,
      ...missing.map((object): LiveWrite => ({ verb: 'create', on: 'target', object })),
    );
  const own = wanted.objects.flatMap((object) => found(object, volumes) ?? []);
  return bindAtOnce(own, volumes) ?? waitFor(own, target.now);
}

function wantedVolumes(
  snapshot: RecordedRun,
  { claims }: SourceSetup,
  { claimProperties }: TargetSetup,
):
  | { readonly kind: 'volumes'; readonly objects: readonly NewVolume[] }
  | Extract<StepDecision, { kind: 'fail' }> {
  const problem = unusable(snapshot);
  if (problem !== undefined) return problem;
  const { run, hub, source, record } = snapshot;
  const input = { run, namespace: record.target.namespace, storage: hub.storage, claims, claimProperties };
  const volumes = neededVolumes(source.vm).map((needed) => targetVolume(needed, input));
  const problems = volumes.flatMap((volume) => (volume.kind === 'problem' ? [volume.problem] : []));
  if (problems.length > 0) return fail(LIVE_REASON.volumeFailed, problems.join('; '));
  const objects = volumes.flatMap((volume) => (volume.kind === 'volume' ? [volume.object] : []));
  return { kind: 'volumes', objects };
}

const found = (
  { kind, metadata }: NewObject,
  volumes: readonly KubernetesObject[],
): KubernetesObject | undefined =>
  volumes.find((volume) => volume.kind === kind && volume.metadata.name === metadata.name);

/**
 * Returns a volume that is in the way: of the same name, and not of this run. The claim that CDI makes of a DataVolume has its name, and is
 * the DataVolume's.
 */
const foreignVolume = (
  wanted: NewObject,
  volumes: readonly KubernetesObject[],
  { run }: RecordedRun,
): KubernetesObject | undefined =>
  volumes.find(({ kind, metadata, ...volume }) => {
    if (metadata.name !== wanted.metadata.name) return false;
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    const isOfDataVolume = kind !== wanted.kind && owner?.kind === LIVE_KIND.dataVolume.kind;
    return !isOfDataVolume && !isOfRun({ metadata, ...volume }, run);
  });

function bindAtOnce(
  own: readonly KubernetesObject[],
  volumes: readonly KubernetesObject[],
): StepDecision | undefined {
  const claims = own.flatMap((volume) => claimToBind(volume as DataVolume, volumes) ?? []);
  if (claims.length === 0) return undefined;
  return write(
    `having CDI fill ${claims.map(({ metadata }) => metadata.name).join(', ')} on the target`,
    ...claims.map((object): LiveWrite => ({ verb: 'replace', on: 'target', object })),
  );
}

function waitFor(volumes: readonly KubernetesObject[], now: number): StepDecision {
  const failed = volumes.filter((volume) => readiness(volume) === 'failed');
  if (failed.length > 0) return fail(LIVE_REASON.volumeFailed, failed.map(pendingMessage).join('; '));
  const pending = volumes.filter((volume) => readiness(volume) === 'pending');
  if (pending.length === 0) return DONE;
  const since = Math.max(...pending.map(({ metadata }) => timeOf(metadata.creationTimestamp)));
  const message = pending.map(pendingMessage).join('; ');
  return waitUntil(
    { now, until: since + LIMIT_MS.volumes },
    { reason: LIVE_REASON.volumesPending, message },
    LIVE_REASON.volumeFailed,
  );
}
