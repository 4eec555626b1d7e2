import type { Argument, Command, Option } from 'commander';

/** The kind of the last word of a command line, by the library's own tree of commands. */
export type Asked =
  /** A flag: those of the command and of the program. */
  | { readonly kind: 'flag'; readonly flags: readonly Option[] }
  /** The value of a flag. `prefix`: the text before the value in the same word ("--output="). */
  | { readonly kind: 'value'; readonly flag: Option; readonly prefix: string }
  | { readonly kind: 'subcommand'; readonly commands: readonly Command[] }
  | { readonly kind: 'argument'; readonly argument: Argument }
  /** A word beyond the arguments that the command takes. */
  | { readonly kind: 'nothing' };

export interface Line {
  readonly asked: Asked;
  /** The subcommand so far. */
  readonly subcommand?: Command;
  /** The arguments before the last word. */
  readonly args: readonly string[];
  /** Values of the flags before the last word, by commander's names. */
  readonly flags: Readonly<Record<string, string>>;
}

/** Reads the words after the program's name; the last one is being typed. */
export function parseLine(program: Command, words: readonly string[]): Line {
  const typed = words.at(-1) ?? '';
  const reading = new Reading(program);
  for (const word of words.slice(0, -1)) reading.take(word);
  const { subcommand, args, flags } = reading;
  return {
    asked: askedFor(reading, typed),
    args,
    flags,
    ...(subcommand === undefined ? {} : { subcommand }),
  };
}

class Reading {
  readonly args: string[] = [];
  readonly flags: Record<string, string> = {};
  subcommand?: Command;
  /** A flag whose value is the next word. */
  open: Option | undefined;
  readonly #program: Command;

  constructor(program: Command) {
    this.#program = program;
  }

  get commands(): readonly Command[] {
    return this.#program.commands;
  }

  get options(): readonly Option[] {
    return [...(this.subcommand?.options ?? []), ...this.#program.options];
  }

  take(word: string): void {
    if (this.open !== undefined) {
      this.flags[this.open.attributeName()] = word;
      this.open = undefined;
    } else if (word.startsWith('-')) this.#takeFlag(word);
    else if (this.subcommand === undefined) this.#takeSubcommand(word);
    else this.args.push(word);
  }

  #takeFlag(word: string): void {
    const [name = '', value] = word.split(/=(.*)/s);
    const option = this.options.find(({ long, short }) => name === long || name === short);
    if (option?.required !== true) return;
    if (value === undefined) this.open = option;
    else this.flags[option.attributeName()] = value;
  }

  #takeSubcommand(word: string): void {
    const found = this.commands.find((command) => command.name() === word);
    if (found !== undefined) this.subcommand = found;
  }
}

function askedFor({ open, options, subcommand, commands, args }: Reading, typed: string): Asked {
  if (open !== undefined) return { kind: 'value', flag: open, prefix: '' };
  if (typed.startsWith('-')) return flagAsked(options, typed);
  if (subcommand === undefined) return { kind: 'subcommand', commands };
  const { registeredArguments } = subcommand;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[args.length] ?? (last?.variadic === true ? last : undefined);
  return argument === undefined ? { kind: 'nothing' } : { kind: 'argument', argument };
}

function flagAsked(options: readonly Option[], typed: string): Asked {
  const [name = '', value] = typed.split(/=(.*)/s);
  const flag = options.find(({ long, required }) => required && name === long);
  return value === undefined || flag === undefined
    ? { kind: 'flag', flags: options }
    : { kind: 'value', flag, prefix: `${name}=` };
}
