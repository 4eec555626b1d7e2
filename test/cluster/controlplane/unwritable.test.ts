import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from './exit.ts';
import { writingTo } from './unwritable.ts';

const place = { folder: '/some/folder', variable: 'TMPDIR' };
const failing = (code: string) => (): never => {
  throw Object.assign(new Error(`${code}: it says`), { code });
};

describe('writingTo', () => {
  test.each([
    ['EACCES', 'may not be written'],
    ['EPERM', 'may not be written'],
    ['EROFS', 'is read-only'],
    ['ENOSPC', 'is full'],
    ['EDQUOT', 'is full'],
    ['ENOENT', 'does not exist'],
    ['ENOTDIR', 'is no folder'],
  ])('%s: names the folder and the variable', (code, why) => {
    expect(() => writingTo(place, failing(code))).toThrow(`/some/folder ${why}: set TMPDIR to `);
  });

  test('leaves any other error as it is', () => {
    expect(() => writingTo(place, failing('EMFILE'))).toThrow(/^EMFILE: it says$/);
  });

  test('returns the answer', () => {
    expect(writingTo(place, () => 1)).toBe(1);
  });
});

test('a temporary folder where there is none to put it into names TMPDIR', () => {
  const none = { folder: '/none', variable: 'TMPDIR' };
  expect(() => temporaryFolder('mtq-', none)).toThrow('/none does not exist: set TMPDIR to ');
});
