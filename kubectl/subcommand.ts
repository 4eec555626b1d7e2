import type { Command } from 'commander';
import type { KubernetesObject } from '../functions/domain/objects.ts';
import type { Session } from './cluster/session.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Exit codes of every subcommand. */
export const EXIT = {
  /** The work is done; no problem was found. */
  ok: 0,
  /** A blocked migration, a failed drain or upgrade, something in the way: see the subcommand's help. */
  found: 1,
  /** The plugin has no answer: wrong flags, missing rights, the API server did not answer. */
  unknown: 2,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The input of a subcommand. */
export interface Invocation {
  readonly session: Session;
  readonly terminal: Terminal;
  readonly args: readonly string[];
  /** Flags by commander's names: `--all-namespaces` is `allNamespaces`. */
  readonly flags: Readonly<Record<string, unknown>>;
}

/** The values for an argument or a flag. Rejects as the verbs of Cluster do. */
export type Completer = (invocation: Pick<Invocation, 'session' | 'args'>) => Promise<readonly string[]>;

/** The names of the objects, for completers. */
export const namesOf = (objects: readonly KubernetesObject[]): string[] =>
  objects.map(({ metadata }) => metadata.name);

/** A subcommand: its folder exports it, program.ts lists it. */
export interface Subcommand {
  /** Returns a new declaration of the name, description, arguments, flags and examples for each call. */
  readonly declare: () => Command;
  /** Completers by the name of an argument ("namespace") or the long form of a flag ("--context"). */
  readonly completers?: Readonly<Record<string, Completer>>;
  /**
   * Runs the subcommand. Rejects with a PluginError, ApiError, Unreachable or TooMuch: the program prints it and exits with
   * EXIT.unknown.
   */
  readonly run: (invocation: Invocation) => Promise<ExitCode>;
}
