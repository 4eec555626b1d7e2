import { endOf, isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import { requireRights, VIEWER, type Right } from '../cluster/rights.ts';
import type { Terminal } from '../terminal/terminal.ts';
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
/** Milliseconds after its end for which the last drain is the one that was asked for, if no other one begins. */
const JUST_ENDED_MS = 600_000;

/** Follows the drain or upgrade `name`; all that are under way by default. */
export async function followMaintenance(
  name: string | undefined,
  { session: { cluster }, terminal }: Pick<Invocation, 'session' | 'terminal'>,
  clock: Clock = systemClock,
): Promise<ExitCode> {
  await requireRights(cluster, MAINTENANCE_RIGHTS, VIEWER);
  const followed = await begun(name, { cluster, terminal, clock });
  const end = await untilEnded(followed, MAINTENANCE, { cluster, terminal });
  return end === 'completed' ? EXIT.ok : EXIT.found;
}

interface Waiting {
  readonly cluster: ApiServer;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/**
 * Waits for the object of this name, and says so at once. If none begins, resolves with one that has just ended. Rejects with a
 * PluginError if there is none.
 */
async function begun(
  name: string | undefined,
  { cluster, terminal, clock }: Waiting,
): Promise<MaintenanceProgress[]> {
  const until = clock.elapsed() + BEGINNING.ms;
  for (let isFirst = true; ; isFirst = false) {
    const { items, date } = await cluster.list(PROGRESSES, {});
    const followed = chosen(items, name);
    if (followed.length > 0) return followed;
    if (name === undefined) throw new PluginError('no drain or upgrade is under way');
    const last = lastAbout(items, name);
    if (isFirst) terminal.warn(waitingFor(name, last));
    if (clock.elapsed() < until) await pause(clock, BEGINNING.everyMs);
    else if (last !== undefined && hasJustEnded(last, date)) return [last];
    else throw new PluginError(nothingOf(name, last));
  }
}

function lastAbout(items: readonly MaintenanceProgress[], name: string): MaintenanceProgress | undefined {
  const last = endedAbout(items, name).at(-1);
  return items.find(({ metadata }) => metadata.name === last);
}

/** `date`: the API server's time. */
const hasJustEnded = (last: MaintenanceProgress, date: Date): boolean =>
  last.status?.endedAt !== undefined && date.getTime() - endOf(last) < JUST_ENDED_MS;

function waitingFor(name: string, last: MaintenanceProgress | undefined): string[] {
  const waiting = `waiting up to 60 s for a drain or an upgrade of ${name} to begin; Ctrl-C stops`;
  if (last === undefined) return [waiting];
  return [waiting, `the last one ended ${last.status?.endedAt ?? ''}: ${plainLine(last)}`];
}

const nothingOf = (name: string, last: MaintenanceProgress | undefined): string =>
  last === undefined
    ? `no drain or upgrade is about ${name}`
    : `no drain or upgrade of ${name} is under way; the last one: kubectl vmmrq progress ${last.metadata.name}`;
