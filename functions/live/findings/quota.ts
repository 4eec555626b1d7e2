import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { claimOfDataVolume, fillingOf, missingToFill } from '../on-target/filling.ts';
import { hasMoved } from '../run/state.ts';
import { LIVE_CONDITION, LIVE_KIND } from '../../domain/live/names.ts';
import { KIND } from '../../domain/names.ts';
import { countOf } from '../on-target/counted-objects.ts';
import { keyOf, resourcesOf, type Resource } from '../on-target/resources.ts';
import type { PlanView, TargetView } from './plan-view.ts';
import { runSettings } from '../run/settings.ts';
import {
  chargedBy,
  fitOf,
  overQuota,
  podsOnTarget,
  receiving,
  stateClaimsOf,
  type Needed,
  type TargetQuotas,
} from '../on-target/quota.ts';
import { neededVolumes, storageEntryOf } from '../on-target/volumes.ts';
import { sizeOf } from '../../domain/live/kubevirt.ts';
import type { Amount } from '../../domain/quantity.ts';
import { reserve } from '../../domain/quota/headroom.ts';
import { claimOfSize } from '../../domain/sizing/claims.ts';
import type { Candidate } from './candidates.ts';

/** Demands of one VM on the target namespace. */
interface VmNeeds {
  /** Objects that stay charged. */
  readonly kept: Needed;
  /** Objects that CDI adds while it fills each of the DataVolumes. */
  readonly filling: readonly Needed[];
}

/**
 * VMs that have no room in the quotas of the target namespace, after those before them in the plan that fit. Such a VM does not keep the
 * plan from running: room may come, and the VMs that fit move.
 */
export function quotaFindings(view: PlanView, candidates: readonly Candidate[]): Finding[] {
  const { targetCluster } = view;
  if (targetCluster === undefined || targetCluster.quotas.length === 0) return [];
  const givers = receiving(targetCluster.vmmrqs)
    .map(({ metadata }) => metadata.name)
    .join(', ');
  const why = (kind: Lack['kind']): string =>
    kind === 'given' ? `, which ${givers} would give once allowOverQuota is set` : '';
  const all = lacks(view, targetCluster, candidates);
  const texts = (isLetIn: boolean): string[] =>
    all
      .filter(({ kind }) => (kind === 'let-in') === isLetIn)
      .map(({ name, missing, kind }) => `${name}: ${missing}${why(kind)}`);
  return [
    ...findingOf(texts(false), {
      ...{ type: LIVE_CONDITION.overQuota, category: 'Warn', reason: 'NotEnough' },
      message:
        'The quotas of the target namespace have no headroom for these VMs, after those before them that fit.',
      suggestion:
        'Increase the quotas; or, for pods that should be over their quota for good, let a VMMRQ in ' +
        `${view.plan.spec.targetNamespace} with allowReceive give it, and set allowOverQuota: "true" in the settings of the target provider. ` +
        NEEDS_MTQ,
    }),
    ...findingOf([...texts(true), ...movedOver(view, targetCluster)], {
      ...{ type: LIVE_CONDITION.restartWouldBeRefused, category: 'Warn', reason: 'NotEnough' },
      message: 'These VMs are over their quota for good, or would be: only a VMMRQ lets them in.',
      suggestion: `Increase the quotas before such a VM is restarted. ${NEEDS_MTQ}`,
    }),
  ];
}

/** Advice about this project on the target: whether it runs there is not known here: a VMMRQ stays after an uninstall. */
const NEEDS_MTQ = 'A VMMRQ lets pods in only while managed-tenant-quota runs on the target too.';

/** The VMs that have moved into a namespace that is over its quotas now, of a plan with others that are still to move. */
function movedOver({ plan }: PlanView, { quotas, vms }: TargetView): string[] {
  const over = overQuota(quotas);
  if (over === '') return [];
  return (plan.status?.migration?.vms ?? [])
    .filter(hasMoved)
    .map(({ name = '', newName = name }) => newName)
    .filter((name) => vms.has(name))
    .map((name) => `${plan.spec.targetNamespace}/${name}: ${over}`);
}

/** A VM that has no room. */
interface Lack {
  readonly name: string;
  /**
   * `given`: a VMMRQ gives the room, and the destination does not allow that; `let-in`: it does. `filling`: the room is missing only while
   * CDI fills the volumes. `copies`: it is missing for copies of Secrets and the like, unless these are there already.
   */
  readonly kind: 'refused' | 'given' | 'let-in' | 'filling' | 'copies';
  readonly missing: string;
}

function lacks(view: PlanView, target: TargetView, candidates: readonly Candidate[]): Lack[] {
  const { quotas, vmmrqs } = target;
  const settings = { source: view.source?.spec.settings, destination: view.destination?.spec.settings };
  const given = runSettings(settings).allowOverQuota ? 'let-in' : 'given';
  const reserved = new Map<string, Map<string, Amount>>();
  const room = { quotas, vmmrqs, reserved };
  const copied = new Set<string>();
  return candidates.flatMap((candidate): Lack[] => {
    const needs = needsOf(candidate, view, target);
    if (needs === undefined) return [];
    const { kept } = needs;
    const { name, vm } = candidate;
    // A VMIM goes at the end of its run, so that the next VM does not need another.
    const { missing, isLetIn } = fitOf({ ...kept, withMigration: true }, room);
    if (missing !== undefined && !isLetIn) return [{ name, kind: 'refused', missing }];
    const copies = resourcesOf(vm).filter((one) => !copied.has(keyOf(one.kind, one.name)));
    const later = laterLacks(name, { ...needs, copies }, room);
    if (missing === undefined || given === 'let-in') {
      for (const one of copies) copied.add(keyOf(one.kind, one.name));
      for (const needed of [kept, copiesNeeded(copies)])
        for (const quota of quotas) reserve(reserved, quota, chargedBy(quota, needed));
    }
    return missing === undefined ? later : [{ name, kind: given, missing }, ...later];
  });
}

/** Returns what a VM lacks that has room for all that it keeps. */
function laterLacks(
  name: string,
  { kept, filling, copies }: VmNeeds & { readonly copies: readonly Resource[] },
  room: TargetQuotas,
): Lack[] {
  const filled = missingToFill(filling, { pods: [], claims: kept.claims }, room);
  const uncopied = missingForCopies(copies, room);
  return [
    ...(filled === undefined ? [] : [{ name, kind: 'filling', missing: filled } as const]),
    ...(uncopied === undefined ? [] : [{ name, kind: 'copies', missing: uncopied } as const]),
  ];
}

const copiesNeeded = (copies: readonly Resource[]): Needed => ({
  ...{ pods: [], claims: [] },
  counted: countOf(copies.map(({ kind }) => kind)),
});

/**
 * Returns the amounts that are missing for copies of the Secrets and the like that a VM names; undefined if none are. Whether these are on the
 * target is not read: a plan is checked before the user who will run it is known.
 */
function missingForCopies(copies: readonly Resource[], room: TargetQuotas): string | undefined {
  const { missing } = fitOf(copiesNeeded(copies), room);
  return missing && `${missing}, unless the Secrets and the like that it names are there already`;
}

/** Returns the needs of the VM; undefined if it does not run, which is another problem. */
export function needsOf(
  { vm, vmi, claims }: Candidate,
  { storage, pods: podsOf }: PlanView,
  { namespace, quotas, kubevirt, limitRanges }: TargetView,
): VmNeeds | undefined {
  const running = podsOf.get(vm.metadata.uid) ?? [];
  if (running.length === 0 || vmi === undefined || namespace === undefined) return undefined;
  const pods = podsOnTarget(running, vmi, { namespace, quotas, kubevirt, limitRanges });
  const volumes = neededVolumes(vm).flatMap(({ name, isDataVolume }) => {
    const claim = claims.get(name);
    const entry = storage && storageEntryOf(claim?.spec.storageClassName ?? '', storage);
    const asked = claim && sizeOf(claim);
    if (entry === undefined || asked === undefined) return [];
    const { storageClass, volumeMode } = entry.destination;
    const ofDataVolume = { storage: asked, storageClass, volumeMode };
    return [
      {
        isDataVolume,
        claim: isDataVolume ? claimOfDataVolume(ofDataVolume) : claimOfSize(asked, storageClass),
      },
    ];
  });
  const filling = volumes.filter(({ isDataVolume }) => isDataVolume).map(({ claim }) => fillingOf([claim]));
  const state = stateClaimsOf(vmi, kubevirt);
  const counted = countOf([
    ...[LIVE_KIND.vm.kind, KIND.vmi.kind],
    ...filling.map(() => LIVE_KIND.dataVolume.kind),
  ]);
  return { kept: { pods, claims: [...volumes.map(({ claim }) => claim), ...state], counted }, filling };
}
