import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FIRST_WITH_TOOLCHAINS = 21;

/**
 * Throws with instructions when no installed Go can build the module in `folder`. Since 1.21 an older Go fetches the
 * version in go.mod by itself (GOTOOLCHAIN=auto), and `go version` in that folder triggers this.
 */
export function requireGo(folder: string, env: NodeJS.ProcessEnv = process.env): void {
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))?.[1] ?? '';
  const need = `Go ${wanted} or newer is needed to build the local control plane (https://go.dev/dl), or KUBEBUILDER_ASSETS with its binaries`;
  const { status, stdout, stderr, error } = spawnSync('go', ['version'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  if (error !== undefined) throw new Error(`${need}: there is no 'go' on the PATH.`);
  if (status !== 0) throw new Error(`${need}: ${stderr.trim()}`);
  const minor = Number(/go1\.(\d+)/.exec(stdout)?.[1] ?? 0);
  if (minor < FIRST_WITH_TOOLCHAINS) throw new Error(`${need}: this is ${stdout.trim()}.`);
}
