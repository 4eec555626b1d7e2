import { LIVE_ANNOTATION, LIVE_LABEL } from '../../../functions/domain/live/names.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { FULL_CLAIMS, FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil } from '../eventually.ts';
import type { PlannedMove } from './crossing.ts';

const SIDES = ['source', 'target'] as const;

export interface Seen {
  readonly runStrategy: string | undefined;
  /** Left out: it has no such field. */
  readonly running?: boolean;
  readonly shown: string | undefined;
  readonly vmis: number;
  readonly vmims: number;
}

/** Of the only VM in the namespace of each side; undefined: it has none. Rejects where the VM on the source has a record of a run. */
export async function seenIn(move: PlannedMove): Promise<Record<Side, Seen | undefined>> {
  const [source, target] = await Promise.all(SIDES.map((side) => seenOn(move, side)));
  return { source, target };
}

async function seenOn(move: PlannedMove, side: Side): Promise<Seen | undefined> {
  const { admin, namespace } = move.side(side);
  const [vms, vmis, vmims] = await Promise.all([
    admin.list(VMS, { namespace }),
    admin.list(FULL_VMIS, { namespace }),
    admin.list(FULL_MIGRATIONS, { namespace }),
  ]);
  const [vm] = vms.items;
  if (vm === undefined) return undefined;
  if (side === 'source' && vm.metadata.annotations?.[LIVE_ANNOTATION.run] !== undefined)
    throw new Error(`VM ${vm.metadata.name} still has a record`);
  const { runStrategy, running } = vm.spec;
  return {
    ...{ runStrategy, shown: vm.status?.printableStatus },
    ...(running === undefined ? {} : { running }),
    ...{ vmis: vmis.items.length, vmims: vmims.items.length },
  };
}

/** Of a VM that moved: off on the source, and running on the target, which says so a moment later. */
export function untilMoved(move: PlannedMove): Promise<Record<Side, Seen | undefined>> {
  return askUntil(
    'the VM runs on the target alone, and shows so',
    () => seenIn(move),
    ({ source, target }) => source?.shown === 'Stopped' && target?.shown === 'Running',
  );
}

/** What the target has with labels of a run: `kind name`. */
export async function labelled(move: PlannedMove): Promise<string[]> {
  const { admin, namespace } = move.side('target');
  const lists = await Promise.all(
    [VMS, FULL_MIGRATIONS, FULL_CLAIMS].map((type) =>
      admin.list(type as ResourceType, { namespace, labelSelector: LIVE_LABEL.migration }),
    ),
  );
  return lists.flatMap(({ items }) => items).map(({ kind = '', metadata }) => `${kind} ${metadata.name}`);
}
