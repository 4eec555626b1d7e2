import type { LiveWrite, Side } from '../run/decision.ts';
import { leftoversOf } from '../run/leftovers.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { describeRecord } from '../run/describe.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { apply, type Applied } from './apply.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined } from '../read/get.ts';
import type { HeldObjects } from './finalizers.ts';
import type { MoveResult } from './move-vm.ts';

/** Returns the API servers; undefined if one of them cannot be reached. */
export function clustersOf(
  { providers: { source, destination } }: HeldObjects,
  hub: ApiServer,
): Readonly<Record<Side, ApiServer>> | undefined {
  if (source?.cluster === undefined || destination?.cluster === undefined) return undefined;
  return { hub, source: source.cluster, target: destination.cluster };
}

type Removals = ReadonlyMap<MoveResult, Applied>;

/** Removes the records of VMs whose end is in the status. Resolves with the result for each VM that had one. */
export async function removeRecords(
  moved: readonly MoveResult[],
  held: HeldObjects,
  { hub, log }: LiveContext,
): Promise<Removals> {
  const clusters = clustersOf(held, hub);
  const applied = moved.map(async (one): Promise<[MoveResult, Applied][]> => {
    const removal = one.decision.kind === 'ended' ? one.decision.recordRemoval : [];
    if (removal.length === 0) return [];
    const result = await removeRecord(removal, clusters);
    if (result.kind === 'refused')
      log('warn', `the record stays for now: ${result.message}`, { vm: one.entry.name });
    return [[one, result]];
  });
  return new Map((await Promise.all(applied)).flat());
}

async function removeRecord(
  removal: readonly LiveWrite[],
  clusters: ReturnType<typeof clustersOf>,
): Promise<Applied> {
  const stays = (message: string): Applied => ({ kind: 'refused', message });
  if (clusters === undefined) return stays('a provider is gone');
  try {
    const applied = await apply(removal, clusters);
    const isOff = applied.kind === 'refused' && (await isRecordGone(removal, clusters.source));
    return isOff ? { kind: 'changed' } : applied;
  } catch (error) {
    return stays(describeError(error));
  }
}

/** Whether another call removed the record: a policy may refuse a write before the API server looks at its version. */
async function isRecordGone(removal: readonly LiveWrite[], source: ApiServer): Promise<boolean> {
  const vms = await Promise.all(
    removal.map(({ object: { metadata } }) =>
      getOrUndefined(
        source.get(VIRTUAL_MACHINES, { namespace: metadata.namespace ?? '', name: metadata.name }),
      ),
    ),
  );
  return vms.every((vm) => vm?.metadata.annotations?.[LIVE_ANNOTATION.run] === undefined);
}

/**
 * Adds a record that cannot be removed to the leftovers, for as long as that is so. It keeps the first message, or the status would never
 * be quiet.
 */
export function withKeptRecord(
  one: MoveResult,
  removal: Applied | undefined,
  shown: Pick<VmStatus, 'conditions'> = {},
): MoveResult {
  const { decision, entry } = one;
  if (decision.kind !== 'ended' || removal?.kind !== 'refused') return one;
  const record = describeRecord(entry);
  const left = leftoversOf(shown).find((each) => each.startsWith(record)) ?? `${record}: ${removal.message}`;
  return { ...one, decision: { ...decision, leftovers: [...decision.leftovers, left] } };
}

/** Whether the leftovers are to be read again: a call that read before the removal may be writing a record. */
export const mayBeRemoved = (removals: Removals): boolean =>
  [...removals.values()].some(({ kind }) => kind !== 'refused');
