import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Entry } from './archive.ts';
import { readElf } from './elf.ts';
import { librariesFor, MissingLibrary } from './libraries.ts';
import { PLATFORMS } from './platforms.ts';

const PROGRAM = readFileSync(process.execPath);
const ELF = readElf(PROGRAM);

const here = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];

test('Node of this machine, as an ELF file', () => {
  expect(ELF?.machine).toBe(PLATFORMS.find(({ architecture }) => architecture === here)?.elfMachine);
  expect(ELF?.interpreter).toMatch(/^\/lib(64)?\/ld-linux-/);
  expect(ELF?.needed).toEqual(expect.arrayContaining(['libc.so.6', 'libstdc++.so.6', 'libgcc_s.so.1']));
});

test.each<[string, Buffer]>([
  ['a script', Buffer.from('#!/bin/sh\n'.padEnd(100))],
  ['of 32 bits', Buffer.from(PROGRAM.subarray(0, 64)).fill(1, 4, 5)],
  ['nothing', Buffer.alloc(0)],
])('no ELF file for us: %s', (_, content) => {
  expect(readElf(content)).toBeUndefined();
});

describe('what a program needs', () => {
  const EMPTY = Buffer.alloc(0);
  const file = (path: string): Entry => ({ type: 'file', path, content: EMPTY });
  const { interpreter = '', needed = [] } = ELF ?? {};
  const names = needed.filter((name) => !name.startsWith('ld-linux'));
  const loader = interpreter.slice(1);
  const all = [
    ...names.map((name) => file(`lib/real/${name}.1`)),
    ...names.map((name): Entry => ({ type: 'symlink', path: `lib/${name}`, target: `real/${name}.1` })),
    file(loader),
    file('lib/libcrypt.so.1'),
  ];

  test('its loader and libraries with the links that lead there, and nothing else', () => {
    const chosen = librariesFor(PROGRAM, all).map(({ path }) => path);
    const want = all.map(({ path }) => path).filter((path) => path !== 'lib/libcrypt.so.1');
    expect(chosen.toSorted()).toEqual(want.toSorted());
  });

  test.each(['lib/real/libstdc++.so.6.1', 'lib/libc.so.6', loader])('without %s', (missing) => {
    const rest = all.filter(({ path }) => path !== missing);
    expect(() => librariesFor(PROGRAM, rest)).toThrow(MissingLibrary);
  });
});
