import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../children.ts';
import { temporaryFolder } from '../exit.ts';
import { writingTo } from '../unwritable.ts';
import { CACHE_VARIABLE, cacheFolder, moduleFolder, pinnedVersion } from './cache.ts';
import { requireGo } from './go.ts';
import { PARTS, type BinaryName } from './parts.ts';
import { probeVersion } from './probe.ts';

/**
 * Builds one part from the Go module proxy into the cache and returns its path. The binary appears there by a rename,
 * whole or not at all: a Ctrl-C, a crash or a parallel build never leaves a partial file.
 */
export async function buildBinary(name: BinaryName, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const part = PARTS[name];
  const cwd = moduleFolder(part.module);
  requireGo(cwd, env);
  const folder = cacheFolder(part.module, env);
  const cache = { folder, variable: CACHE_VARIABLE };
  writingTo(cache, () => mkdirSync(folder, { recursive: true }));
  // In the cache folder, because a rename works only within one file system.
  const scratch = temporaryFolder(`.${name}-`, cache);
  try {
    const output = join(scratch.path, name);
    const go = await startChild({
      name: `go build ${part.package}`,
      command: 'go',
      args: ['build', '-trimpath', '-ldflags', linkerFlags(name), '-o', output, part.package],
      logFile: join(scratch.path, 'log'),
      cwd,
      // So an interrupt also removes Go's own work files.
      env: { ...env, CGO_ENABLED: '0', GOWORK: 'off', GOTMPDIR: scratch.path },
    });
    const how = await go.ended;
    if (how !== 'exit code 0') throw new Error(`${go.name} failed (${how}):\n${go.logTail()}`);
    const version = probeVersion(name, output);
    const pinned = pinnedVersion(part);
    if (!version.includes(pinned.slice(1)))
      throw new Error(`${name} should be ${pinned}, but says ${version}`);
    renameSync(output, join(folder, name));
    return join(folder, name);
  } finally {
    scratch.remove();
  }
}

/** No symbol tables; and the versions of Kubernetes and Helm, which their release scripts set the same way. */
function linkerFlags(name: BinaryName): string {
  const version = pinnedVersion(PARTS[name]);
  const [major = '', minor = ''] = version.slice(1).split('.');
  const variables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    [PARTS.kubectl.versionOf]: {
      'k8s.io/component-base/version.gitVersion': version,
      'k8s.io/component-base/version.gitMajor': major,
      'k8s.io/component-base/version.gitMinor': minor,
    },
    [PARTS.helm.versionOf]: { 'helm.sh/helm/v3/internal/version.version': version },
  };
  const flags = Object.entries(variables[PARTS[name].versionOf] ?? {}).map(
    ([key, value]) => `-X ${key}=${value}`,
  );
  return ['-s -w', ...flags].join(' ');
}
