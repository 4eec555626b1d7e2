import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { inTheWay, neededVolumes } from '../on-target/volumes.ts';
import type { Candidate } from './candidates.ts';
import type { PlanView } from './plan-view.ts';

/** Volumes that cannot be copied for one VM alone, or that have no room in the target namespace. */
export const volumeFindings = (view: PlanView, candidates: readonly Candidate[]): Finding[] => [
  ...findingOf(
    candidates.flatMap((candidate) => sharedBy(candidate, view)),
    {
      type: LIVE_CONDITION.sharedDisks,
      reason: 'NotSupported',
      message: 'VM shares a volume with other VMs: they would write different disks after the move.',
      suggestion:
        'Give each VM a volume of its own (a clone, for example), or take the volume out of all of them but one. ' +
        'Restart those that are on, while no run moves them.',
    },
  ),
  ...findingOf(
    candidates.flatMap((candidate) => [
      ...takenOnTarget(candidate, view),
      ...namesakesOf(candidate, candidates),
    ]),
    {
      type: LIVE_CONDITION.volumeAlreadyExists,
      reason: 'NotUnique',
      message: 'Target volume already exists.',
      suggestion: 'Follow the advice of each item, or set another targetNamespace in the plan.',
    },
  ),
];

/** Users of a volume that are named. */
const MAX_USERS = 3;

function sharedBy({ vm, name: of }: Candidate, { sourceCluster }: PlanView): string[] {
  const { namespace = '', uid } = vm.metadata;
  return neededVolumes(vm).flatMap(({ volume, name }) => {
    const users = sourceCluster?.users.get(`${namespace}/${name}`) ?? [];
    const others = users.filter((user) => user.uid !== uid);
    if (others.length === 0) return [];
    const named = others.slice(0, MAX_USERS).map((user) => user.name ?? 'another VM');
    const more = others.length > MAX_USERS ? [`${String(others.length - MAX_USERS)} more`] : [];
    return [`${of}: volume ${volume} (${name}) is used by ${[...new Set([...named, ...more])].join(', ')}`];
  });
}

const takenOnTarget = ({ vm, name: of }: Candidate, { targetCluster }: PlanView): string[] =>
  neededVolumes(vm).flatMap(({ name }) => {
    const there = targetCluster?.volumes.get(name);
    return there === undefined ? [] : [`${of}: ${inTheWay(there, vm.metadata.uid)}`];
  });

/** Volumes of the plan's VMs of other namespaces with the same name: all get the one target namespace. */
const namesakesOf = ({ vm, name: of }: Candidate, candidates: readonly Candidate[]): string[] =>
  neededVolumes(vm).flatMap(({ name }) => {
    const other = candidates.find(
      (one) =>
        one.vm.metadata.namespace !== vm.metadata.namespace &&
        neededVolumes(one.vm).some((needed) => needed.name === name),
    );
    return other === undefined
      ? []
      : [`${of}: a volume of ${other.name} is named ${name} too: move one of them by a plan of its own`];
  });
