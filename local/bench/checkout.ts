import { execFile } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../controlplane/exit.ts';

const run = promisify(execFile);
const HERE = fileURLToPath(new URL('../..', import.meta.url));

/** Another commit of this repository in a folder of its own, built. */
export interface Checkout {
  readonly commit: string;
  readonly folder: string;
  /** Its processes find the API server as in a pod wherever the files are (docs/adr/0013); before, only by KUBECONFIG. */
  readonly knowsPods: boolean;
  remove(): void;
}

/**
 * What `ref` names, with the packages that are installed here (those of another lock file would have to be fetched).
 * Rejects where git does not know it or its build fails, leaving nothing behind.
 */
export async function checkOut(ref: string): Promise<Checkout> {
  const { stdout } = await run('git', ['rev-parse', '--verify', `${ref}^{commit}`], { cwd: HERE });
  const commit = stdout.trim();
  const folder = temporaryFolder('mtq-bench-against-');
  try {
    const archive = join(folder.path, 'archive.tar');
    await run('git', ['archive', '--output', archive, commit], { cwd: HERE });
    await run('tar', ['-xf', archive, '-C', folder.path]);
    symlinkSync(join(HERE, 'node_modules'), join(folder.path, 'node_modules'));
    await run(process.execPath, ['local/build.ts'], { cwd: folder.path });
  } catch (error) {
    folder.remove();
    throw error;
  }
  const knowsPods = existsSync(join(folder.path, 'functions/kubernetes/in-cluster.ts'));
  return { commit, folder: folder.path, knowsPods, remove: () => folder.remove() };
}
