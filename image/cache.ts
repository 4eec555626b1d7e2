import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where downloads are kept between builds, each under its checksum; two clones share. Made when it is not there. */
export function downloads(env: NodeJS.ProcessEnv = process.env): string {
  // An empty variable means unset, and a relative one must be ignored (XDG base directory specification).
  const base =
    env['XDG_CACHE_HOME']?.startsWith('/') === true ? env['XDG_CACHE_HOME'] : join(homedir(), '.cache');
  const folder = join(base, 'managed-tenant-quota', 'image');
  mkdirSync(folder, { recursive: true });
  return folder;
}
