import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView, TargetView, VmSize } from '../../domain/live/plan-view.ts';
import { runSettings } from '../../domain/live/settings.ts';
import { chargedBy, fitOf, receiving, type ClaimSize, type Needed } from '../../domain/live/target-quota.ts';
import { IMPORTER_POD, neededVolumes, sizeOf, storageEntryOf } from '../../domain/live/volumes.ts';
import type { Amount } from '../../domain/quantity.ts';
import { reserve } from '../../domain/quota/headroom.ts';
import type { Candidate } from './vms.ts';

/** What one VM needs in the quotas of the target namespace. */
interface VmNeeds {
  /** From now on. */
  readonly kept: Needed;
  /** Besides, while CDI fills its DataVolumes: each has a second claim of its size and a pod (facts/cross-cluster.md §D2). */
  readonly filling: Needed;
}

/**
 * Which VMs the quotas of the target namespace have no room for, all that come before it in the plan included. No such VM keeps the
 * plan from running: room may come, and those that fit move.
 */
export function quotaFindings(view: PlanView, candidates: readonly Candidate[]): Finding[] {
  const { targetCluster } = view;
  if (targetCluster === undefined || targetCluster.quotas.length === 0) return [];
  const givers = receiving(targetCluster.vmmrqs)
    .map(({ metadata }) => metadata.name)
    .join(', ');
  const why: Readonly<Record<Lack['kind'], string>> = {
    refused: '',
    given: `, which ${givers} gives once allowOverQuota is set`,
    'let-in': '',
    filling: ' while CDI fills its volumes',
  };
  const all = lacks(view, targetCluster, candidates);
  const texts = (isLetIn: boolean): string[] =>
    all
      .filter(({ kind }) => (kind === 'let-in') === isLetIn)
      .map(({ name, missing, kind }) => `${name}: ${missing}${why[kind]}`);
  return [
    ...findingOf(texts(false), {
      ...{ type: LIVE_CONDITION.overQuota, category: 'Warn', reason: 'NotEnough' },
      message: 'The quotas of the target namespace have no room for these VMs after those before them.',
      suggestion:
        'Increase the quotas; or, for pods that shall be over their quota for good, let a VMMRQ in ' +
        `${view.plan.spec.targetNamespace} with allowReceive give it, and set allowOverQuota: "true" in the settings of the destination.`,
    }),
    ...findingOf(texts(true), {
      ...{ type: LIVE_CONDITION.restartWouldBeRefused, category: 'Warn', reason: 'NotEnough' },
      message: `These VMs would be over their quota for good: only ${givers} lets them in.`,
      suggestion: 'Increase the quotas before such a VM is restarted.',
    }),
  ];
}

/** A VM that has no room. */
interface Lack {
  readonly name: string;
  /** `given`: a VMMRQ gives it, which the destination does not allow; `let-in`: it does. `filling`: room only for the VM itself. */
  readonly kind: 'refused' | 'given' | 'let-in' | 'filling';
  readonly missing: string;
}

function lacks(
  view: PlanView,
  { quotas, vmmrqs }: Pick<TargetView, 'quotas' | 'vmmrqs'>,
  candidates: readonly Candidate[],
): Lack[] {
  const settings = { source: view.source?.spec.settings, destination: view.destination?.spec.settings };
  const given = runSettings(settings).allowOverQuota ? 'let-in' : 'given';
  const reserved = new Map<string, Map<string, Amount>>();
  return candidates.flatMap((candidate): Lack[] => {
    const needs = needsOf(candidate, view);
    if (needs === undefined) return [];
    const room = { quotas, vmmrqs, reserved };
    const { missing, isLetIn } = fitOf(needs.kept, room);
    const missingFilled = fitOf(both(needs), room).missing;
    for (const quota of quotas) reserve(reserved, quota, chargedBy(quota, needs.kept));
    const { name } = candidate;
    if (missing !== undefined) return [{ name, kind: isLetIn ? given : 'refused', missing }];
    return missingFilled === undefined ? [] : [{ name, kind: 'filling', missing: missingFilled }];
  });
}

const both = ({ kept, filling }: VmNeeds): Needed => ({
  pods: [...kept.pods, ...filling.pods],
  claims: [...kept.claims, ...filling.claims],
});

/** undefined: it does not run, which is another problem. */
function needsOf({ vm, claims }: Candidate, { storage, sizes }: PlanView): VmNeeds | undefined {
  const size = sizes.get(vm.metadata.uid);
  if (size === undefined || size.pods.length === 0) return undefined;
  const volumes = neededVolumes(vm).flatMap(({ name: claimName, isDataVolume }) => {
    const claim = claims.get(claimName);
    const entry = storage && storageEntryOf(claim?.spec.storageClassName ?? '', storage);
    const asked = claim && sizeOf(claim);
    return entry === undefined || asked === undefined
      ? []
      : [{ isDataVolume, claim: claimOf(asked, entry.destination.storageClass) }];
  });
  const filled = volumes.filter(({ isDataVolume }) => isDataVolume).map(({ claim }) => claim);
  const kept = { pods: size.pods, claims: [...volumes.map(({ claim }) => claim), ...stateOf(size)] };
  return { kept, filling: { pods: filled.map(() => IMPORTER_POD), claims: filled } };
}

const claimOf = (storage: string, storageClassName?: string): ClaimSize => ({
  spec: { ...(storageClassName && { storageClassName }), resources: { requests: { storage } } },
});

/** Of which class they will be is the target's KubeVirt's to say. */
const stateOf = ({ state }: VmSize): ClaimSize[] =>
  state.map(({ spec }) => claimOf(spec.resources?.requests?.['storage'] ?? '0'));
