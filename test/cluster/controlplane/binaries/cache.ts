import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Part } from './parts.ts';

/** The folder with the go.mod and go.sum of a part. */
export const moduleFolder = (module: Part['module']): string =>
  fileURLToPath(new URL(module, import.meta.url));

/** The environment variable of the folder that the cache is in. */
export const CACHE_VARIABLE = 'XDG_CACHE_HOME';

/**
 * The cache folder for the binaries of one module: a separate one for each set of pinned versions and each
 * platform, so that an upgrade never finds old binaries, and two clones share them.
 */
export function cacheFolder(module: Part['module'], env: NodeJS.ProcessEnv = process.env): string {
  // An empty variable means unset, and a relative one must be ignored (XDG base directory specification).
  const given = env[CACHE_VARIABLE] ?? '';
  const base = given.startsWith('/') ? given : join(homedir(), '.cache');
  const key = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of ['go.mod', 'go.sum']) key.update(readFileSync(join(moduleFolder(module), file)));
  return join(base, 'managed-tenant-quota', `${module}-${key.digest('hex').slice(0, 16)}`);
}

/** A part's pinned version in its go.mod, with the v: "v1.36.3". */
export function pinnedVersion({ module, versionOf }: Pick<Part, 'module' | 'versionOf'>): string {
  const text = readFileSync(join(moduleFolder(module), 'go.mod'), 'utf8');
  const line = text.split('\n').find((candidate) => candidate.trim().startsWith(`${versionOf} v`));
  const version = line?.trim().split(' ')[1];
  if (version === undefined) throw new Error(`${module}/go.mod does not require ${versionOf}`);
  return version;
}
