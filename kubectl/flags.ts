import { Option } from 'commander';

/** What `-o` takes; left out: a table. */
export type Output = 'json' | 'yaml' | 'wide';

/** A new Option for each command: commander keeps state in it. */
export const outputFlag = (...formats: readonly Output[]): Option =>
  new Option('-o, --output <format>', 'output format').choices(formats);

export const allNamespacesFlag = (): Option => new Option('-A, --all-namespaces', 'of all namespaces');

/** The part of the help after the flags. */
export const examples = (...lines: readonly string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n');
