import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writeApplication } from '../image/application.ts';
import { writePlainTar, type FileEntry } from '../image/archive.ts';
import { digestOf } from '../image/layout.ts';
import { PLATFORMS } from '../image/platforms.ts';
import { NAME } from '../image/sbom.ts';
import { writeInstallation } from '../local/manifests/write.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

export interface PackOptions {
  readonly version: string;
  /** Seconds: the time of the image's archive. */
  readonly epoch: number;
  /** Where the image will be: registry and repository, without a tag. */
  readonly repository: string;
  /** CHANGELOG.md with this version. */
  readonly changelog: string;
  /** What `npm run image` made: oci/ and sbom-<architecture>.cdx.json. */
  readonly image: string;
  /** What is there goes. */
  readonly out: string;
}

/** Everything that a release consists of, and its checksums, into `out`; the tree stays as it is. Returns the image's digest. */
export async function pack(options: PackOptions): Promise<string> {
  const { out, version, epoch, image: built, repository } = options;
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await packPackage(options);
  const layout = join(built, 'oci');
  await writePlainTar(await filesIn(layout), join(out, `${NAME}-${version}.oci.tar`), epoch);
  for (const { architecture } of PLATFORMS) {
    const sbom = `sbom-${architecture}.cdx.json`;
    await copyFile(join(built, sbom), join(out, `${NAME}-${version}.${sbom}`));
  }
  const digest = digestOf(layout);
  const image = { newName: repository, digest };
  await writeInstallation(join(out, 'manifests'), { overlay: 'default', components: [], image, version });
  await writeChecksums(out);
  return digest;
}

interface PackageFile {
  readonly files: readonly string[];
  readonly scripts: { readonly start: string };
}

/** The npm package: what package.json lists under files, with the version that it will have. */
async function packPackage({ out, version, changelog }: PackOptions): Promise<void> {
  const folder = join(out, 'package');
  await writeApplication(folder);
  const file = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as PackageFile;
  const made = await readdir(folder);
  // README.md belongs to every npm package.
  const copied = ['README.md', ...file.files].filter((path) => !made.includes(path));
  for (const path of copied) await cp(join(root, path), join(folder, path), { recursive: true });
  await writeFile(join(folder, 'CHANGELOG.md'), changelog);
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(packaged(file, version), undefined, 2)}\n`);
  await run('npm', ['pack', '--silent', '--offline', '--ignore-scripts', '--pack-destination', out, folder], {
    cwd: root,
  });
  await rm(folder, { recursive: true });
}

/** package.json of a package whose code is bundled: it depends on nothing, and can only be started. */
function packaged(file: PackageFile, version: string): object {
  const { scripts } = file;
  const kept = Object.entries(file).filter(([key]) => !/dependencies$|^overrides$/i.test(key));
  return { ...Object.fromEntries(kept), version, scripts: { start: scripts.start } };
}

async function filesIn(folder: string): Promise<FileEntry[]> {
  const paths = await pathsIn(folder);
  return Promise.all(
    paths.map(async (path) => ({ type: 'file', path, content: await readFile(join(folder, path)) })),
  );
}

/** Of the files below a folder, from it, in order. */
export async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted();
}

/** SHA256SUMS, as `sha256sum --check` takes it. */
async function writeChecksums(out: string): Promise<void> {
  const lines: string[] = [];
  for (const path of await pathsIn(out)) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(out, path))) hash.update(chunk as Buffer);
    lines.push(`${hash.digest('hex')}  ${path}\n`);
  }
  await writeFile(join(out, 'SHA256SUMS'), lines.join(''));
}
