import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Repository } from './repository.ts';

let folder: string;
let repository: Repository;
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
const write = (name: string, content: string): void => writeFileSync(join(folder, name), content);

/** A repository of its own, with one commit. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mtq-release-'));
  git('init', '--quiet', '--initial-branch', 'main');
  for (const [key, value] of [
    ['user.name', 'Somebody'],
    ['user.email', 'somebody@example.invalid'],
    ['commit.gpgsign', 'false'],
    ['tag.gpgsign', 'false'],
  ] as const)
    git('config', key, value);
  write('CHANGELOG.md', 'one');
  git('add', '.');
  git('commit', '--quiet', '--message', 'First', '--date', '2026-01-01T00:00:00Z');
  repository = new Repository(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

test('all committed, on main, no such tag: it can be released', () => {
  expect(repository.problems('1.0.0')).toEqual([]);
});

test.each<[string, () => void, RegExp]>([
  [
    'something is changed',
    () => write('CHANGELOG.md', 'two'),
    /not everything is committed:\nM CHANGELOG.md/,
  ],
  ['something is new', () => write('new', ''), /not everything is committed:\n\?\? new/],
  ['another branch', () => git('checkout', '--quiet', '-b', 'mine'), /this is branch mine/],
  ['it was released', () => git('tag', 'v1.0.0'), /there is a tag v1.0.0/],
])('%s: it cannot', (_, change, why) => {
  change();
  expect(repository.problems('1.0.0')).toEqual([expect.stringMatching(why)]);
});

test('the time of a release is that of its commit', () => {
  expect(repository.epoch()).toBe(Number(git('log', '-1', '--format=%ct')));
});

test('a release is a commit of these files, and a tag with the notes', () => {
  write('CHANGELOG.md', 'two');
  write('another', '');
  repository.commit('1.0.0', ['CHANGELOG.md'], '- Two.');
  expect(git('log', '-1', '--format=%s')).toBe('Release 1.0.0');
  expect(git('show', '--format=', '--name-only', 'HEAD')).toBe('CHANGELOG.md');
  expect(git('tag', '--list', '--format=%(contents)', 'v1.0.0')).toBe('1.0.0\n\n- Two.');
  expect(git('rev-parse', 'v1.0.0^{commit}')).toBe(git('rev-parse', 'HEAD'));
});
