import type { Command } from 'commander';
import { named } from '../../functions/cluster/listed.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { clustersOf, connect, contextsOf, usersOf, type ConnectionFlags } from '../cluster/session.ts';
import { namesOf, type Completer, type Subcommand } from '../subcommand.ts';
import { parseLine, type Line } from './words.ts';

/** Bits of cobra's ShellCompDirective. */
const DIRECTIVE = { files: 0, error: 1, noFiles: 4 } as const;
/** Maximum silence of the API server: a shell that waits for a completion does nothing else. */
const SILENCE_MS = 3_000;

interface Candidate {
  readonly value: string;
  readonly description?: string;
}

/**
 * The lines that kubectl_complete-vmmrq prints, by cobra's protocol: a candidate and its description in each, and a directive in
 * the last one. Never rejects: without an answer of the API server there are no candidates.
 */
export async function complete(
  program: Command,
  subcommands: readonly Subcommand[],
  words: readonly string[],
): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const line = parseLine(program, words);
  if (line.asked.kind === 'value' && line.asked.flag.long === '--kubeconfig')
    return [directive(DIRECTIVE.files)];
  try {
    const candidates = await candidatesFor(line, subcommands);
    return [
      ...candidates.filter(({ value }) => value.startsWith(typed)).map(textOf),
      directive(DIRECTIVE.noFiles),
    ];
  } catch {
    return [directive(DIRECTIVE.error)];
  }
}

const directive = (bits: number): string => `:${String(bits)}`;

const textOf = ({ value, description = '' }: Candidate): string =>
  description === '' ? value : `${value}\t${description}`;

async function candidatesFor(line: Line, subcommands: readonly Subcommand[]): Promise<Candidate[]> {
  const { asked } = line;
  switch (asked.kind) {
    case 'flag':
      return asked.flags
        .filter(({ hidden }) => !hidden)
        .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
    case 'subcommand':
      return asked.commands.map((command) => ({
        value: command.name(),
        description: command.summary() || command.description(),
      }));
    case 'value': {
      const { argChoices, long = '' } = asked.flag;
      const values = argChoices ?? (await valuesFor(long, line, subcommands));
      return values.map((value) => ({ value: asked.prefix + value }));
    }
    case 'argument': {
      const { argument } = asked;
      const values = argument.argChoices ?? (await valuesFor(argument.name(), line, subcommands));
      return values.filter((value) => !line.args.includes(value)).map((value) => ({ value }));
    }
    case 'nothing':
      return [];
  }
}

/** Completers for the content of the kubeconfig, and for flags of the program itself. */
const COMPLETERS: Readonly<Record<string, (flags: ConnectionFlags) => Promise<readonly string[]>>> = {
  '--context': (flags) => Promise.resolve(contextsOf(flags)),
  '--cluster': (flags) => Promise.resolve(clustersOf(flags)),
  '--user': (flags) => Promise.resolve(usersOf(flags)),
  'other-context': (flags) => Promise.resolve(contextsOf(flags)),
  '--namespace': async (flags) => {
    const { items } = await connect(flags, SILENCE_MS).cluster.list(named(NAMESPACES), {});
    return namesOf(items);
  },
};

async function valuesFor(
  of: string,
  { subcommand, args, flags }: Line,
  subcommands: readonly Subcommand[],
): Promise<readonly string[]> {
  const own = subcommands.find(({ declare }) => declare().name() === subcommand?.name());
  const completer: Completer | undefined = own?.completers?.[of];
  if (completer !== undefined) return completer({ session: connect(flags, SILENCE_MS), args });
  return COMPLETERS[of]?.(flags) ?? [];
}
