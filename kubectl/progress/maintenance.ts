import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import { requireRights, type Right } from '../cluster/rights.ts';
import { EXIT, type ExitCode, type Invocation } from '../subcommand.ts';
import { chosen, endedAbout } from './choose.ts';
import type { FollowedKind } from './kind.ts';
import { plainLine, renderProgress } from './render.ts';
import { untilEnded } from './until-ended.ts';

export const MAINTENANCE_RIGHTS: readonly Right[] = [
  { verb: 'list', type: PROGRESSES },
  { verb: 'watch', type: PROGRESSES },
];

export const MAINTENANCE: FollowedKind<MaintenanceProgress> = {
  type: PROGRESSES,
  where: {},
  isOpen,
  hasSucceeded: ({ status }) => status?.state === 'Completed',
  render: renderProgress,
  plainLine,
};

/** Times, in milliseconds, to look again for the object of a drain, which exists some seconds after `kubectl drain` has begun. */
const BEGINNING = { ms: 60_000, everyMs: 1_000 } as const;

/** Follows the drain or upgrade `name`; all that are under way by default. */
export async function followMaintenance(
  name: string | undefined,
  { session: { cluster }, terminal }: Pick<Invocation, 'session' | 'terminal'>,
  clock: Clock = systemClock,
): Promise<ExitCode> {
  await requireRights(cluster, MAINTENANCE_RIGHTS);
  const until = clock.elapsed() + (name === undefined ? 0 : BEGINNING.ms);
  const followed = await begunBy(until, name, { cluster, clock });
  const end = await untilEnded(followed, MAINTENANCE, { cluster, terminal });
  return end === 'completed' ? EXIT.ok : EXIT.found;
}

/** Waits for the object. Rejects with a PluginError if none exists at `until`, in milliseconds of the clock. */
async function begunBy(
  until: number,
  name: string | undefined,
  { cluster, clock }: { readonly cluster: ApiServer; readonly clock: Clock },
): Promise<MaintenanceProgress[]> {
  for (;;) {
    const { items } = await cluster.list(PROGRESSES, {});
    const followed = chosen(items, name);
    if (followed.length > 0) return followed;
    if (clock.elapsed() >= until) throw new PluginError(nothingOf(items, name));
    await pause(clock, BEGINNING.everyMs);
  }
}

function nothingOf(items: readonly MaintenanceProgress[], name: string | undefined): string {
  if (name === undefined) return 'no drain or upgrade is under way';
  const ended = endedAbout(items, name).at(-1);
  return ended === undefined
    ? `no drain or upgrade is about ${name}`
    : `no drain or upgrade of ${name} is under way; the last one: kubectl vmmrq progress ${ended}`;
}
