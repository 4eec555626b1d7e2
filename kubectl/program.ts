import { shown } from '../functions/domain/foreign-text.ts';
import { Command, CommanderError } from 'commander';
import { describeError } from '../functions/kubernetes/errors.ts';
import packageJson from '../package.json' with { type: 'json' };
import { describeFailure } from './cluster/failure.ts';
import { PluginError } from './cluster/plugin-error.ts';
import { complete } from './completion/complete.ts';
import { connect, type ConnectionFlags, type Session } from './cluster/session.ts';
import { explainSubcommand } from './explain/explain.ts';
import { details } from './flags.ts';
import { preflightSubcommand } from './preflight/command.ts';
import { progressSubcommand } from './progress/progress.ts';
import { EXIT, type ExitCode, type Subcommand } from './subcommand.ts';
import { statusSubcommand } from './status/status.ts';
import type { Terminal } from './terminal/terminal.ts';
import { trustSubcommand } from './trust/trust.ts';
import { unlockSubcommand } from './unlock/unlock.ts';

/** The subcommands in the order of the help. */
export const SUBCOMMANDS: readonly Subcommand[] = [
  statusSubcommand,
  explainSubcommand,
  preflightSubcommand,
  progressSubcommand,
  unlockSubcommand,
  trustSubcommand,
];

const HELP = [
  'Flags follow the name: kubectl vmmrq -n NS explain MIGRATION.',
  'Exit codes: 0 nothing is in the way, 1 something is, 2 no answer (flags, rights, API server).',
];

/** The program with its flags and subcommands. `run` gets the subcommand, and its declaration with the parsed flags. */
export function newProgram(run: (subcommand: Subcommand, declared: Command) => Promise<void>): Command {
  const program = new Command('kubectl vmmrq')
    .description('Quotas and live migrations: what blocks, what is raised, what would free it.')
    .version(packageJson.version)
    .option('--kubeconfig <file>', 'path to the kubeconfig')
    .option('--context <name>', 'context of the kubeconfig')
    .option('-n, --namespace <namespace>', 'namespace; by default that of the context')
    .option('--cluster <name>', 'cluster of the kubeconfig')
    .option('--user <name>', 'user of the kubeconfig')
    .option('-s, --server <url>', 'URL of the API server')
    .option('--token <token>', 'bearer token for the API server')
    .option('--as <user>', 'user to impersonate')
    .option('--as-group <group>', 'group to impersonate; may be repeated', withGroup)
    .option('--request-timeout <time>', 'how long the API server may be silent, such as 30s; 0 for ever')
    .option('--insecure-skip-tls-verify', 'do not check the certificate of the API server')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    .addHelpText('after', details(HELP))
    .exitOverride();
  for (const subcommand of SUBCOMMANDS) {
    const declared = subcommand.declare().copyInheritedSettings(program);
    program.addCommand(declared.action(() => run(subcommand, declared)));
  }
  return program;
}

/** commander has no groups before the first one. */
const withGroup = (group: string, before: string[] | undefined): string[] => [...(before ?? []), group];

/** The first argument by which kubectl_complete-vmmrq calls the plugin. */
const COMPLETE = '__complete';

/** Runs the command line; never rejects. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  if (args[0] === COMPLETE) {
    const program = newProgram(() => Promise.resolve());
    terminal.printCandidates(await complete(program, SUBCOMMANDS, args.slice(1)));
    return EXIT.ok;
  }
  let code: ExitCode = EXIT.ok;
  const program = newProgram(async ({ run }, declared) => {
    if (declared.args.includes(''))
      throw new PluginError('an argument is empty, as of a variable that is not set');
    const flags = declared.optsWithGlobals<ConnectionFlags & Record<string, unknown>>();
    code = await run({ session: connectAs(flags), terminal, args: declared.args, flags });
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.unknown;
    const [first = '', ...others] = messageOf(error);
    terminal.warn([`error: ${first}`, ...others]);
    return EXIT.unknown;
  }
}

function connectAs(flags: ConnectionFlags): Session {
  try {
    return connect(flags);
  } catch (cause) {
    if (cause instanceof PluginError) throw cause;
    throw new PluginError(
      `no API server by the kubeconfig: ${shown(cause instanceof Error ? cause.message : String(cause))}`,
      { cause },
    );
  }
}

/** The lines of an expected error's message; with the stack for a defect of the plugin. */
function messageOf(error: unknown): string[] {
  if (error instanceof PluginError) return error.message.split('\n');
  const failure = describeFailure(error);
  if (failure !== undefined) return [failure];
  if (!(error instanceof Error)) return [describeError(error)];
  const stack = (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line));
  return [describeError(error), ...stack];
}
