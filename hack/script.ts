/**
 * The frame of our npm scripts: each answers --help, and refuses unknown flags, wrong values and arguments with its usage and exit code 2.
 */
import { inspect } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';

export { InvalidArgumentError, Option } from 'commander';

const WRONG_USAGE = 2;

/** Errors that only a defect of the script throws. */
const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Declares `npm run <name>`, without flags. */
export const newScript = (name: string, description: string): Command =>
  new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError()
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE));

/**
 * Reads the command line and runs `main` with its flags. The exit code is 1 if `main` resolves to false or rejects, and 2 if it rejects
 * with an InvalidArgumentError.
 */
export async function runScript<Flags extends object>(
  script: Command,
  main: (flags: Flags) => Promise<unknown>,
): Promise<void> {
  const flags = script.parse().opts<Flags>();
  try {
    if ((await main(flags)) === false) process.exitCode = 1;
  } catch (error) {
    if (error instanceof InvalidArgumentError) script.error(`error: ${error.message}`);
    // After a signal (test/cluster/controlplane/exit.ts) a failure is expected.
    if (process.exitCode !== undefined) return;
    process.stderr.write(`${textOf(error)}\n`);
    process.exit(1);
  }
}

/** Returns the message and the cause of an expected failure; of a defect all there is. */
function textOf(error: unknown): string {
  if (!(error instanceof Error) || DEFECTS.some((defect) => error instanceof defect)) return inspect(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `error: ${error.message}${cause}`;
}

/** Returns the parser of a whole number from `min` to `max`, for commander. It throws InvalidArgumentError. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of at least ${min}`;
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

/** Returns the parser of a name, for too many names for the help. It throws InvalidArgumentError with all of them. */
export const oneOf =
  (names: readonly string[]) =>
  (text: string): string => {
    if (names.includes(text)) return text;
    throw new InvalidArgumentError(`Allowed choices are:\n  ${names.join('\n  ')}`);
  };
