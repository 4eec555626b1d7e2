import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import tar, { type Header } from 'tar-stream';
import { readTar, writeTar, type Entry } from './archive.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mtq-archive-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const NODE: Entry = { type: 'file', path: 'usr/bin/node', content: Buffer.from('a binary'), mode: 0o755 };
const LINK: Entry = { type: 'symlink', path: 'lib64/ld.so', target: '/lib/ld-2.so' };
const TMP: Entry = { type: 'directory', path: 'tmp', mode: 0o1777 };

async function headersIn(file: string): Promise<Header[]> {
  const headers: Header[] = [];
  const extract = createReadStream(file).pipe(createGunzip()).pipe(tar.extract());
  for await (const entry of extract) {
    headers.push(entry.header);
    entry.resume();
  }
  return headers;
}

test('in order of path, each after its folder, of root, of one time', async () => {
  const file = join(folder, 'order');
  await writeTar([NODE, TMP, LINK], file, 86_400);
  const headers = await headersIn(file);
  expect(headers.map(({ name, type, mode }) => [name, type, mode.toString(8)])).toEqual([
    ['lib64/', 'directory', '755'],
    ['lib64/ld.so', 'symlink', '777'],
    ['tmp/', 'directory', '1777'],
    ['usr/', 'directory', '755'],
    ['usr/bin/', 'directory', '755'],
    ['usr/bin/node', 'file', '755'],
  ]);
  const owners = new Set(headers.map(({ uid, gid, uname, gname }) => [uid, gid, uname, gname].join()));
  expect([...owners]).toEqual(['0,0,,']);
  expect(new Set(headers.map(({ mtime }) => mtime.toISOString()))).toEqual(
    new Set(['1970-01-02T00:00:00.000Z']),
  );
});

test('the same entries in another order, later: the same file', async () => {
  const one = await writeTar([NODE, LINK, TMP], join(folder, 'one'), 0);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await writeTar([TMP, NODE, LINK], join(folder, 'other'), 0)).toEqual(one);
  const { tar: sum } = await writeTar([TMP, NODE, LINK], join(folder, 'of another time'), 1);
  expect(sum).not.toBe(one.tar);
});

test('what is written is read back', async () => {
  const file = join(folder, 'back');
  await writeTar([NODE, LINK], file, 0);
  const read = await readTar(createReadStream(file).pipe(createGunzip()), () => true);
  expect(read).toEqual([LINK, NODE]);
});

test('an archive that is cut off is not read as a shorter one', async () => {
  const file = join(folder, 'cut');
  await writeTar([NODE, LINK], file, 0);
  const cut = createReadStream(file, { end: 100 }).pipe(createGunzip());
  await expect(readTar(cut, () => true)).rejects.toThrow();
});

test('two files at one path', async () => {
  await expect(writeTar([NODE, { ...LINK, path: NODE.path }], join(folder, 'two'), 0)).rejects.toThrow(
    'two files at usr/bin/node',
  );
});
