import { Option, type AddHelpTextContext } from 'commander';
import { PluginError } from './cluster/plugin-error.ts';
import type { Terminal } from './terminal/terminal.ts';

/** The formats of `-o`; a table by default. */
export type Output = 'json' | 'yaml' | 'wide';

/** A new Option for each command: commander keeps state in it. */
export const outputFlag = (...formats: readonly Output[]): Option =>
  new Option('-o, --output <format>', 'output format').choices(formats);

export const allNamespacesFlag = (): Option => new Option('-A, --all-namespaces', 'of all namespaces');

export const yesFlag = (): Option => new Option('-y, --yes', 'do not ask');

/** Asks for a confirmation, unless there is --yes. Rejects with a PluginError if stdin is no terminal. */
export async function isConfirmed(
  question: string,
  { terminal, flags }: { readonly terminal: Terminal; readonly flags: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  if (flags['yes'] === true) return true;
  const answer = await terminal.confirm(question);
  if (answer === undefined) throw new PluginError('there is no terminal to ask on: use --yes');
  return answer;
}

/** Columns of a help that goes to no terminal. */
const HELP_WIDTH = 80;

/** The part of the help after the flags: paragraphs, each wrapped to the terminal as commander wraps the flags, and examples. */
export const details =
  (paragraphs: readonly string[], examples: readonly string[] = []) =>
  ({ command }: AddHelpTextContext): string => {
    const width = command.configureOutput().getOutHelpWidth?.() ?? HELP_WIDTH;
    const help = command.createHelp();
    return [
      ...paragraphs.flatMap((text) => ['', help.boxWrap(text, width)]),
      ...(examples.length === 0 ? [] : ['', 'Examples:', ...examples.map((line) => `  ${line}`)]),
    ].join('\n');
  };
