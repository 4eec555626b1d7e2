import type { LiveWrite, Side } from '../run/decision.ts';
import { leftoversOf } from '../run/leftovers.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { shownRecord } from '../run/describe.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { apply, type Applied } from './apply.ts';
import type { LiveContext } from '../context.ts';
import { found } from '../read/get.ts';
import type { Held } from './finalizers.ts';
import type { Moved } from './move-vm.ts';

/** undefined: one of them cannot be asked. */
export function clustersOf(
  { providers: { source, destination } }: Held,
  hub: ApiServer,
): Readonly<Record<Side, ApiServer>> | undefined {
  if (source?.cluster === undefined || destination?.cluster === undefined) return undefined;
  return { hub, source: source.cluster, target: destination.cluster };
}

type Released = ReadonlyMap<Moved, Applied>;

/** Once the end of a VM is in the status, its record goes. What became of each that had one. */
export async function releaseVms(
  moved: readonly Moved[],
  held: Held,
  { hub, log }: LiveContext,
): Promise<Released> {
  const clusters = clustersOf(held, hub);
  const applied = moved.map(async (one): Promise<[Moved, Applied][]> => {
    const release = one.decision.kind === 'ended' ? one.decision.release : [];
    if (release.length === 0) return [];
    const result = await releaseOne(release, clusters);
    if (result.kind === 'refused')
      log('warn', `the record stays for now: ${result.message}`, { vm: one.entry.name });
    return [[one, result]];
  });
  return new Map((await Promise.all(applied)).flat());
}

async function releaseOne(
  release: readonly LiveWrite[],
  clusters: ReturnType<typeof clustersOf>,
): Promise<Applied> {
  const stays = (message: string): Applied => ({ kind: 'refused', message });
  if (clusters === undefined) return stays('a provider is gone');
  try {
    const applied = await apply(release, clusters);
    const isOff = applied.kind === 'refused' && (await isTakenOff(release, clusters.source));
    return isOff ? { kind: 'changed' } : applied;
  } catch (error) {
    return stays(describeError(error));
  }
}

/** By another call: a policy may refuse a write before the API server looks at its version. */
async function isTakenOff(release: readonly LiveWrite[], source: ApiServer): Promise<boolean> {
  const vms = await Promise.all(
    release.map(({ object: { metadata } }) =>
      found(source.get(VIRTUAL_MACHINES, { namespace: metadata.namespace ?? '', name: metadata.name })),
    ),
  );
  return vms.every((vm) => vm?.metadata.annotations?.[LIVE_ANNOTATION.run] === undefined);
}

/** A record that cannot be taken off is left over as long as that is so. With what was said first, or the status would never be quiet. */
export function withLeftRecord(
  one: Moved,
  released: Applied | undefined,
  shown: Pick<VmStatus, 'conditions'> = {},
): Moved {
  const { decision, entry } = one;
  if (decision.kind !== 'ended' || released?.kind !== 'refused') return one;
  const record = shownRecord(entry);
  const left = leftoversOf(shown).find((each) => each.startsWith(record)) ?? `${record}: ${released.message}`;
  return { ...one, decision: { ...decision, leftovers: [...decision.leftovers, left] } };
}

/** What of the run is left is to be read again: another call that read before may be writing a record. */
export const isAnyOff = (released: Released): boolean =>
  [...released.values()].some(({ kind }) => kind !== 'refused');
