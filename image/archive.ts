import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { PassThrough, Transform, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import tar from 'tar-stream';

/** A file of a root file system. */
export type Entry = FileEntry | LinkEntry | FolderEntry;

export interface FileEntry {
  readonly type: 'file';
  /** Without a leading slash. */
  readonly path: string;
  readonly content: Buffer;
  /** 0o644 when left out. */
  readonly mode?: number;
}

export interface LinkEntry {
  readonly type: 'symlink';
  readonly path: string;
  readonly target: string;
}

export interface FolderEntry {
  readonly type: 'directory';
  readonly path: string;
  /** 0o755 when left out. */
  readonly mode?: number;
}

/** Reads a tar archive; keeps those entries that `wanted` says yes to, with paths that begin neither with / nor with ./ */
export async function readTar(archive: Readable, wanted: (path: string) => boolean): Promise<Entry[]> {
  const extract = tar.extract();
  const entries: Entry[] = [];
  const reading = pipeline(archive, extract);
  // Its end comes as an error of the pipeline, too; awaited below.
  reading.catch(() => undefined);
  for await (const entry of extract) {
    const { name, type, linkname, mode } = entry.header;
    const path = name.replace(/^\.?\//, '').replace(/\/$/, '');
    const content = await buffer(entry);
    if (!wanted(path)) continue;
    if (type === 'file') entries.push({ type, path, content, mode });
    if (type === 'symlink') entries.push({ type, path, target: linkname });
  }
  await reading;
  return entries;
}

export interface Written {
  /** sha256 of the archive, in hex. */
  readonly tar: string;
  /** sha256 of the file, in hex: of the compressed archive. */
  readonly gzip: string;
  /** Of the file, bytes. */
  readonly size: number;
  /** Of the archive, bytes. */
  readonly unpacked: number;
}

/**
 * Writes a gzipped tar archive that depends on nothing but the entries: in order of their paths, with the folders they are
 * in, all owned by root, all of the time `epoch` (seconds).
 */
export async function writeTar(entries: readonly Entry[], file: string, epoch: number): Promise<Written> {
  return write(entries, file, { epoch, compress: createGzip });
}

/** The same without compression, for what is compressed already. */
export async function writePlainTar(
  entries: readonly Entry[],
  file: string,
  epoch: number,
): Promise<Written> {
  return write(entries, file, { epoch, compress: () => new PassThrough() });
}

async function write(
  entries: readonly Entry[],
  file: string,
  { epoch, compress }: { readonly epoch: number; readonly compress: () => Transform },
): Promise<Written> {
  const all = inOrder(entries);
  const pack = tar.pack();
  const common = { uid: 0, gid: 0, mtime: new Date(epoch * 1_000) };
  const archive = measured();
  const compressed = measured();
  const writing = pipeline(pack, archive.through, compress(), compressed.through, createWriteStream(file));
  for (const entry of all) {
    if (entry.type === 'file')
      pack.entry({ ...common, name: entry.path, mode: entry.mode ?? 0o644 }, entry.content);
    else if (entry.type === 'symlink')
      pack.entry({ ...common, name: entry.path, type: 'symlink', linkname: entry.target, mode: 0o777 });
    else pack.entry({ ...common, name: `${entry.path}/`, type: 'directory', mode: entry.mode ?? 0o755 });
  }
  pack.finalize();
  await writing;
  return {
    tar: archive.digest(),
    gzip: compressed.digest(),
    size: compressed.size(),
    unpacked: archive.size(),
  };
}

/** With the folders that are not among them; each before what is in it. Throws when two have one path. */
function inOrder(entries: readonly Entry[]): Entry[] {
  const all = new Map<string, Entry>();
  for (const entry of entries) {
    if (all.has(entry.path)) throw new Error(`two files at ${entry.path}`);
    all.set(entry.path, entry);
  }
  for (const { path } of entries) {
    const parts = path.split('/');
    for (const [index] of parts.slice(1).entries()) {
      const folder = parts.slice(0, index + 1).join('/');
      if (!all.has(folder)) all.set(folder, { type: 'directory', path: folder });
    }
  }
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

interface Measured {
  readonly through: Transform;
  readonly digest: () => string;
  readonly size: () => number;
}

function measured(): Measured {
  const hash: Hash = createHash('sha256');
  let size = 0;
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  return { through, digest: () => hash.digest('hex'), size: () => size };
}
