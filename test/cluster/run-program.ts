import { describeError } from '../../functions/kubernetes/errors.ts';
import { isLeaving } from './controlplane/exit.ts';

/** Runs a program. It prints a failure to standard error, for a TypeError with the usage; after a signal a failure is expected. */
export async function runProgram(program: () => Promise<unknown>, usage = ''): Promise<void> {
  try {
    await program();
  } catch (error) {
    if (isLeaving()) return;
    const hint = error instanceof TypeError ? `\n${usage}` : '';
    process.stderr.write(`\n${describeError(error)}${hint}\n`);
    process.exit(1);
  }
}
