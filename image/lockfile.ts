import { readFileSync } from 'node:fs';

/** A package of package-lock.json. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Subresource integrity: an algorithm, a dash, the checksum of its tarball in base64. */
  readonly integrity: string;
  /** SPDX expression. */
  readonly license: string | undefined;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { version?: string; integrity?: string; license?: string }>>;
}

const { packages } = JSON.parse(
  readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
) as Lockfile;

/** The package at node_modules/<path>. Throws when package-lock.json has none there, or no checksum of it. */
export function lockedPackage(path: string): LockedPackage {
  const { version, integrity, license } = packages[`node_modules/${path}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json does not pin ${path}`);
  return { name: path.split('node_modules/').at(-1) ?? path, version, integrity, license };
}
