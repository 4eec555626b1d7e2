import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache.ts';
import { PARTS, type BinaryName } from './parts.ts';
import { probeVersion } from './probe.ts';

/** The smallest binary has 12 MiB: a file below this limit was truncated by a full disk. */
const MIN_BYTES = 1024 * 1024;

/**
 * The path of an existing binary: in KUBEBUILDER_ASSETS (kube-controller-manager may be there too), or in the cache; never the
 * machine's own, which may be of any version. Undefined when it must be built. Throws when KUBEBUILDER_ASSETS is set but unusable.
 */
export function findBinary(name: BinaryName, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return fromAssets(name, env) ?? fromCache(name, env);
}

function fromAssets(name: BinaryName, env: NodeJS.ProcessEnv): string | undefined {
  const { inAssets } = PARTS[name];
  const folder = env['KUBEBUILDER_ASSETS'] ?? '';
  if (folder === '' || inAssets === 'never') return undefined;
  const path = join(folder, name);
  if (isExecutable(path)) {
    probeVersion(name, path);
    return path;
  }
  if (inAssets === 'maybe') return undefined;
  throw new Error(`KUBEBUILDER_ASSETS is ${folder}, but there is no executable ${name} in it`);
}

function fromCache(name: BinaryName, env: NodeJS.ProcessEnv): string | undefined {
  const path = join(cacheFolder(PARTS[name].module, env), name);
  return isExecutable(path) && statSync(path).size >= MIN_BYTES ? path : undefined;
}

/** Whether the file exists and is executable. */
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
