import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { readTar, type FileEntry } from './archive.ts';
import { downloads } from './cache.ts';
import { lockedPackage } from './lockfile.ts';
import type { Platform } from './platforms.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

export interface NodeFiles {
  readonly version: string;
  readonly binary: Buffer;
  readonly license: Buffer;
}

/**
 * Node of a platform, in the version and with the checksum of package-lock.json: from the cache, or by `npm pack`, since
 * npm installs only what is for this machine.
 */
export async function nodeFiles({ nodePackage }: Platform): Promise<NodeFiles> {
  const { version, integrity } = lockedPackage(nodePackage);
  const tarball = await tarballOf(`${nodePackage}@${version}`, integrity);
  const paths = ['package/bin/node', 'package/LICENSE'];
  const entries = await readTar(createReadStream(tarball).pipe(createGunzip()), (path) =>
    paths.includes(path),
  );
  const content = (path: string): Buffer => {
    const entry = entries.find((each): each is FileEntry => each.path === path && each.type === 'file');
    if (entry === undefined) throw new Error(`${nodePackage}@${version} has no ${path}`);
    return entry.content;
  };
  return { version, binary: content('package/bin/node'), license: content('package/LICENSE') };
}

async function tarballOf(what: string, integrity: string): Promise<string> {
  const file = join(downloads(), `${createHash('sha256').update(integrity).digest('hex')}.tgz`);
  if (existsSync(file)) return file;
  const folder = mkdtempSync(join(downloads(), 'download-'));
  try {
    await run('npm', ['pack', '--silent', '--pack-destination', folder, what], { cwd: root });
    const [name = ''] = readdirSync(folder);
    const sum = createHash('sha512')
      .update(readFileSync(join(folder, name)))
      .digest('base64');
    if (`sha512-${sum}` !== integrity)
      throw new Error(`${what} is not what package-lock.json says: sha512-${sum}`);
    renameSync(join(folder, name), file);
    return file;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
