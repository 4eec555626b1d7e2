import { Option } from 'commander';
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

/** The part of the help after the flags. */
export const examples = (...lines: readonly string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n');
