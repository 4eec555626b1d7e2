import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
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

/** `name`: left out, all drains and upgrades that are under way. */
export async function followMaintenance(
  name: string | undefined,
  { session: { cluster }, terminal }: Pick<Invocation, 'session' | 'terminal'>,
): Promise<ExitCode> {
  await requireRights(cluster, MAINTENANCE_RIGHTS);
  const { items } = await cluster.list(PROGRESSES, {});
  const followed = chosen(items, name);
  if (followed.length === 0) throw new PluginError(nothingOf(items, name));
  const end = await untilEnded(followed, MAINTENANCE, { cluster, terminal });
  return end === 'completed' ? EXIT.ok : EXIT.found;
}

function nothingOf(items: readonly MaintenanceProgress[], name: string | undefined): string {
  if (name === undefined) return 'no drain or upgrade is under way';
  const ended = endedAbout(items, name).at(-1);
  return ended === undefined
    ? `no drain or upgrade is about ${name}`
    : `no drain or upgrade of ${name} is under way; the last one: kubectl vmmrq progress ${ended}`;
}
