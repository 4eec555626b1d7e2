import { describeError } from '../../functions/kubernetes/errors.ts';
import { isLeaving } from './controlplane/exit.ts';

/** Runs a program. A failure goes to standard error, with the usage for a TypeError; after a signal it is expected. */
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
