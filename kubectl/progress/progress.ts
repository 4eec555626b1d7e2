import { Command } from 'commander';
import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { requireRights, type Right } from '../cluster/rights.ts';
import { examples } from '../flags.ts';
import { EXIT, namesOf, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { chosen, endedAbout, endOf } from './choose.ts';
import { ProgressScreen } from './screen.ts';

const HELP = `
Follows MaintenanceProgress objects (mprog) until they end. Without a name: all that are under way.

Exit codes: 0 completed; 1 failed, canceled or superseded; 2 no answer.`;

const EXAMPLES = examples(
  'kubectl vmmrq progress',
  'kubectl vmmrq progress node1',
  'kubectl drain node1 --ignore-daemonsets & kubectl vmmrq progress drain-1a2b3c4d-1',
);

export const PROGRESS_RIGHTS: readonly Right[] = [
  { verb: 'list', type: PROGRESSES },
  { verb: 'watch', type: PROGRESSES },
];

export const progressSubcommand: Subcommand = {
  declare: () =>
    new Command('progress')
      .description('follow a drain or an upgrade until it ends')
      .argument('[name]', 'a MaintenanceProgress, or the node that is drained')
      .addHelpText('after', HELP + EXAMPLES),
  completers: {
    name: async ({ session: { cluster } }) => {
      const { items } = await cluster.list(PROGRESSES, {});
      return [...namesOf(items), ...new Set(items.map(({ spec }) => spec.subject))];
    },
  },
  run,
};

async function run({ session: { cluster }, terminal, args: [name] }: Invocation): Promise<ExitCode> {
  await requireRights(cluster, PROGRESS_RIGHTS);
  const { items } = await cluster.list(PROGRESSES, {});
  const followed = chosen(items, name);
  if (followed.length === 0) throw new PluginError(nothingOf(items, name));
  const screen = new ProgressScreen(terminal);
  const end = await whileOpen(cluster, followed, {
    show: (progresses) => screen.show(progresses),
    warn: (text) => terminal.warn(text),
  });
  return end === 'completed' ? EXIT.ok : EXIT.found;
}

function nothingOf(items: readonly MaintenanceProgress[], name: string | undefined): string {
  if (name === undefined) return 'no drain or upgrade is under way';
  const ended = endedAbout(items, name).at(-1);
  return ended === undefined
    ? `no drain or upgrade is about ${name}`
    : `no drain or upgrade of ${name} is under way; the last one: kubectl vmmrq progress ${ended}`;
}

interface Shown {
  readonly show: (progresses: readonly MaintenanceProgress[]) => void;
  readonly warn: (text: string) => void;
}

/** Resolves when each of them is final. Rejects with a PluginError when one is deleted before it is. */
async function whileOpen(
  cluster: ApiServer,
  followed: readonly MaintenanceProgress[],
  { show, warn }: Shown,
): Promise<'completed' | 'failed'> {
  const { promise, resolve, reject } = Promise.withResolvers<'completed' | 'failed'>();
  const latest = new Map(followed.map((progress) => [progress.metadata.uid, progress]));
  const look = (changed: readonly MaintenanceProgress[]): void => {
    for (const progress of changed) {
      if (latest.has(progress.metadata.uid)) latest.set(progress.metadata.uid, progress);
    }
    const progresses = [...latest.values()];
    show(progresses);
    const end = endOf(progresses);
    if (end !== undefined) resolve(end);
  };
  const gone = ({ metadata }: MaintenanceProgress): void => {
    const known = latest.get(metadata.uid);
    // One that had ended was only cleared away.
    if (known !== undefined && isOpen(known)) reject(new PluginError(`${metadata.name} was deleted`));
  };
  const ending = new AbortController();
  void follow(
    cluster,
    { type: PROGRESSES, where: {}, signal: ending.signal },
    {
      onList: (all) => {
        const present = new Set(all.map(({ metadata }) => metadata.uid));
        for (const progress of latest.values()) if (!present.has(progress.metadata.uid)) gone(progress);
        look(all);
      },
      onChange: (progress) => look([progress]),
      onGone: gone,
      onError: (error) => warn(`watching again: ${describeError(error)}`),
    },
  );
  try {
    return await promise;
  } finally {
    ending.abort();
  }
}
