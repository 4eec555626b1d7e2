import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readTar, type Entry } from './archive.ts';
import { downloads } from './cache.ts';
import type { Platform } from './platforms.ts';

const run = promisify(execFile);

/** A package as image/debian-packages.json pins it, for one architecture. */
export interface Pin {
  readonly name: string;
  readonly version: string;
  /** sha256 of the .deb, in hex, by architecture. */
  readonly sha256: Readonly<Record<Platform['architecture'], string>>;
}

/** A package that is on this machine now. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** Path of the .deb. */
  readonly file: string;
  /** It is the version that is pinned. If not, the image is not the one that others build. */
  readonly pinned: boolean;
}

/** glibc, libstdc++ and libgcc, and the package that has the licence of the latter two. */
export const PINS = JSON.parse(
  readFileSync(new URL('debian-packages.json', import.meta.url), 'utf8'),
) as readonly Pin[];

/** A package cannot be had here: says which, and what would help. */
export class NoPackage extends Error {
  override readonly name = 'NoPackage';
}

/**
 * The pinned packages of an architecture, from the cache or by this machine's apt, whatever its own architecture is. Where
 * apt does not offer a pinned version any more, its update. Needs apt-get and dpkg-deb and no root; rejects
 * with NoPackage.
 */
export async function debianPackages(architecture: Platform['architecture']): Promise<DebianPackage[]> {
  const apt = new Apt(architecture);
  const packages: DebianPackage[] = [];
  for (const pin of PINS) packages.push(cached(pin, architecture) ?? (await apt.download(pin)));
  return packages;
}

const fileOf = (sha256: string): string => join(downloads(), `${sha256}.deb`);

function cached(
  { name, version, sha256 }: Pin,
  architecture: Platform['architecture'],
): DebianPackage | undefined {
  const wanted = sha256[architecture];
  const file = fileOf(wanted);
  return existsSync(file) && sha256Of(file) === wanted
    ? { name, version, sha256: wanted, file, pinned: true }
    : undefined;
}

const sha256Of = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** apt with lists of its own: the machine's are neither read nor changed. */
class Apt {
  readonly #architecture: Platform['architecture'];
  readonly #options: readonly string[];
  #updated = false;

  constructor(architecture: Platform['architecture']) {
    this.#architecture = architecture;
    const folder = join(downloads(), `apt-${architecture}`);
    mkdirSync(join(folder, 'state/lists/partial'), { recursive: true });
    mkdirSync(join(folder, 'cache/archives/partial'), { recursive: true });
    const settings = {
      'APT::Architecture': architecture,
      'APT::Architectures': architecture,
      'APT::Sandbox::User': 'root',
      'Dir::State': join(folder, 'state'),
      'Dir::State::status': '/dev/null',
      'Dir::Cache': join(folder, 'cache'),
      'Acquire::Languages': 'none',
      'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    };
    this.#options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  }

  async download({ name, version, sha256 }: Pin): Promise<DebianPackage> {
    await this.#update();
    const file =
      (await this.#attempt(`${name}=${version}`, sha256[this.#architecture])) ?? (await this.#attempt(name));
    if (file === undefined) {
      throw new NoPackage(
        `apt offers no ${name} for ${this.#architecture}. On a machine without Debian's packages build with docker, podman or buildah.`,
      );
    }
    const found = await versionIn(file);
    if (upstream(found) !== upstream(version)) {
      throw new NoPackage(
        `apt offers ${name} ${found}, and ${version} is needed: that is another distribution`,
      );
    }
    const sum = sha256Of(file);
    return { name, version: found, sha256: sum, file, pinned: sum === sha256[this.#architecture] };
  }

  /** The .deb in the cache, or undefined when apt does not offer it, or offers another file by that name. */
  async #attempt(what: string, wanted?: string): Promise<string | undefined> {
    const folder = mkdtempSync(join(downloads(), 'download-'));
    try {
      await run('apt-get', [...this.#options, '-qq', 'download', what], { cwd: folder });
      const [name = ''] = readdirSync(folder);
      const sum = sha256Of(join(folder, name));
      if (wanted !== undefined && sum !== wanted) return undefined;
      renameSync(join(folder, name), fileOf(sum));
      return fileOf(sum);
    } catch (error) {
      if (isMissing(error)) throw new NoPackage('there is no apt-get on this machine');
      return undefined;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  async #update(): Promise<void> {
    if (this.#updated) return;
    this.#updated = true;
    try {
      await run('apt-get', [...this.#options, '-qq', 'update']);
    } catch (error) {
      if (isMissing(error)) throw new NoPackage('there is no apt-get on this machine');
      // One source of several that is out of reach is no reason to stop: the download shows what is there.
    }
  }
}

/** 2.36 of 2.36-9+deb12u14: a distribution keeps it, and its security updates change what follows. */
const upstream = (version: string): string => version.replace(/-[^-]*$/, '');

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

async function versionIn(file: string): Promise<string> {
  const { stdout } = await run('dpkg-deb', ['--field', file, 'Version']);
  return stdout.trim();
}

/** The control file of a .deb, as scanners want it in /var/lib/dpkg/status.d. */
export async function controlOf(file: string): Promise<string> {
  const { stdout } = await run('dpkg-deb', ['--field', file]);
  return stdout;
}

/** The files and links of a .deb that `wanted` says yes to. */
export async function filesOf(file: string, wanted: (path: string) => boolean): Promise<Entry[]> {
  const unpacking = spawn('dpkg-deb', ['--fsys-tarfile', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve, reject) => {
    unpacking.once('error', reject);
    unpacking.once('close', (code) =>
      code === 0 ? resolve() : reject(new NoPackage(`dpkg-deb cannot read ${file}`)),
    );
  });
  const [entries] = await Promise.all([readTar(unpacking.stdout, wanted), ended]);
  return entries;
}
