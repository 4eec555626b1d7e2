import { Command, Option } from 'commander';
import { snapshotRights } from '../cluster/namespace.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { sightOf, unseenLines, withUnseen, type Sight } from '../cluster/sight.ts';
import { STATE_RIGHTS } from '../cluster/state.ts';
import { allNamespacesFlag, details, outputFlag, type Output } from '../flags.ts';
import { EXIT, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { reportObject, structured } from '../terminal/structured.ts';
import { readStatus } from './read.ts';
import { renderStatus } from './render.ts';
import { reportOf, type StatusInput } from './report.ts';
import { WATCH_RIGHTS, whileWatching } from './watch.ts';

const HELP = [
  'Shows the namespaces with VMMRQs, locks, raised quotas or migrations that wait for a quota, and for ' +
    'each of these the verdict that the functions give it now.',
  'Exit codes: 0 shown; 2 no answer.',
];

const EXAMPLES = [
  'kubectl vmmrq status -A',
  'kubectl vmmrq status -n tenant-a -o wide',
  'kubectl vmmrq status -A --watch',
];

interface StatusFlags {
  readonly allNamespaces?: true;
  readonly watch?: true;
  readonly output?: Output;
}

export const statusSubcommand: Subcommand = {
  declare: () =>
    new Command('status')
      .description('show namespaces with VMMRQs, locks and raised quotas, and what waits for a quota')
      .addOption(allNamespacesFlag())
      .addOption(new Option('-w, --watch', 'show it again after each change, until interrupted'))
      .addOption(outputFlag('json', 'yaml', 'wide'))
      .addHelpText('after', details(HELP, EXAMPLES)),
  run,
};

async function run(invocation: Invocation): Promise<ExitCode> {
  const { session, terminal } = invocation;
  const { allNamespaces, watch, output } = invocation.flags as StatusFlags;
  const namespace = allNamespaces === true ? undefined : session.namespace;
  const { reader, unseen } = await sightOf(
    session.cluster,
    [...STATE_RIGHTS, ...snapshotRights(namespace), ...(watch === true ? WATCH_RIGHTS : [])],
    watch === true ? undefined : namespace,
  );
  let shown: string | undefined;
  const look = async (): Promise<void> => {
    const input = await readStatus(reader, namespace);
    // With --watch it may be created.
    if (watch !== true && isUnknown(namespace, input))
      throw new PluginError(`there is no namespace ${namespace}`);
    const lines = linesOf(input, unseen, { terminal, output });
    const text = lines.join('\n');
    if (text === shown) return;
    if (watch === true && (terminal.isTerminal || shown !== undefined)) terminal.clear();
    if (text === '') terminal.warn(nothingIn(namespace));
    else terminal.print(lines);
    shown = text;
  };
  if (watch === true) return whileWatching(session.cluster, look);
  await look();
  return EXIT.ok;
}

const nothingIn = (namespace: string | undefined): string => {
  const where = namespace === undefined ? '.' : ` in namespace ${namespace}: -A shows all namespaces.`;
  return `No VMMRQs, locks, raised quotas or waiting migrations found${where}`;
};

const isUnknown = (namespace: string | undefined, { namespaces }: StatusInput): namespace is string =>
  namespace !== undefined && !namespaces.some(({ metadata }) => metadata.name === namespace);

function linesOf(
  input: StatusInput,
  unseen: Sight['unseen'],
  { terminal, output }: Pick<Invocation, 'terminal'> & { readonly output: Output | undefined },
): string[] {
  const report = reportOf(input);
  if (output === 'json' || output === 'yaml')
    return structured(output, reportObject('Status', withUnseen(report, unseen)));
  const lines = renderStatus(report, { sheet: terminal.sheet(output), now: input.state.now });
  return lines.length === 0 ? [] : [...lines, ...unseenLines(unseen)];
}
