import { posix } from 'node:path';
import type { Entry, FileEntry } from './archive.ts';
import { readElf } from './elf.ts';

/** Something that a binary needs is nowhere. */
export class MissingLibrary extends Error {
  override readonly name = 'MissingLibrary';
}

/**
 * Of all these files and links those that a binary needs to be loaded: its dynamic loader, the libraries that it is linked
 * with, and what those need in turn, each with the links that lead there. Throws MissingLibrary.
 */
export function librariesFor(binary: Buffer, available: readonly Entry[]): Entry[] {
  const byPath = new Map(available.map((entry) => [entry.path, entry]));
  const byName = new Map(available.map((entry) => [posix.basename(entry.path), entry]));
  const chosen = new Map<string, Entry>();

  const follow = (entry: Entry | undefined, name: string): void => {
    if (entry === undefined) throw new MissingLibrary(name);
    if (chosen.has(entry.path)) return;
    chosen.set(entry.path, entry);
    if (entry.type === 'symlink') follow(byPath.get(targetOf(entry)), entry.target);
    if (entry.type === 'file') followAll(entry);
  };
  const followAll = ({ content }: Pick<FileEntry, 'content'>): void => {
    const elf = readElf(content);
    if (elf?.interpreter !== undefined) follow(byPath.get(elf.interpreter.slice(1)), elf.interpreter);
    for (const name of elf?.needed ?? []) follow(byName.get(name), name);
  };

  followAll({ content: binary });
  return [...chosen.values()];
}

/** Where a link leads, without a leading slash. */
export const targetOf = ({ path, target }: { readonly path: string; readonly target: string }): string =>
  posix.resolve('/', posix.dirname(path), target).slice(1);
