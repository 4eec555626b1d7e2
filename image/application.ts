import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleOf } from '../local/build.ts';
import type { FileEntry } from './archive.ts';
import { lockedPackage, type LockedPackage } from './lockfile.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Where the code is, and where processes start. */
export const HOME = 'app';

export interface Application {
  /** dist/*.mjs without their source maps, our licence, and the licences of what is bundled. */
  readonly entries: readonly FileEntry[];
  /** What is bundled, in order of name. */
  readonly packages: readonly LockedPackage[];
}

/** Bundles the code as `npm run build` does, into `folder`, which is emptied. */
export async function application(folder: string): Promise<Application> {
  const { inputs } = await bundleOf(undefined, folder);
  const paths = new Set(inputs.flatMap((input) => packagePathOf(input) ?? []));
  const code = readdirSync(folder).filter((name) => name.endsWith('.mjs'));
  const file = (path: string, content: Buffer): FileEntry => ({
    type: 'file',
    path: `${HOME}/${path}`,
    content,
  });
  return {
    entries: [
      ...code.map((name) => file(`dist/${name}`, readFileSync(join(folder, name)))),
      file('LICENSE', readFileSync(join(root, 'LICENSE'))),
      file('THIRD-PARTY-LICENSES', Buffer.from([...paths].toSorted().map(licenseOf).join('\n'))),
    ],
    packages: [...paths].map(lockedPackage).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** The same as files: dist/, LICENSE and THIRD-PARTY-LICENSES in `folder`, which is made. */
export async function writeApplication(folder: string): Promise<void> {
  const bundled = `${folder}.bundle`;
  const { entries } = await application(bundled);
  for (const { path, content } of entries) {
    const file = join(folder, path.slice(HOME.length + 1));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  rmSync(bundled, { recursive: true });
}

/** "node_modules/a/node_modules/@b/c/d.js" is of a/node_modules/@b/c; undefined for a file of our own. */
export const packagePathOf = (input: string): string | undefined =>
  /(?:^|\/)node_modules\/((?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];

/** The licence texts that a package ships, under its name; those that ship none name theirs in package.json. */
function licenseOf(path: string): string {
  const folder = join(root, 'node_modules', path);
  const { name, version, license = 'no licence named' } = lockedPackage(path);
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file))
    : [];
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`==== ${name} ${version} (${license})`, ...texts, ''].join('\n\n');
}
