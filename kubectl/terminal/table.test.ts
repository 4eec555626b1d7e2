import { describe, expect, test } from '@jest/globals';
import stringWidth from 'string-width';
import { renderTable, type Paint } from './table.ts';

const plain: Paint = (_, text) => text;
const marked: Paint = (style, text) => `<${style}>${text}</${style}>`;
const ROWS = [
  ['tenant-a', { text: 'yes', style: 'red' }, 'one'],
  ['b', { text: 'no', style: 'green' }, ''],
] as const;

describe('a table', () => {
  test('has columns as wide as their widest cells, and nothing after the last', () => {
    expect(renderTable(['NAMESPACE', 'LOCKED', 'WHY'], ROWS, { paint: plain })).toEqual([
      'NAMESPACE   LOCKED   WHY',
      'tenant-a    yes      one',
      'b           no',
    ]);
  });

  test('is as wide with colours as without', () => {
    expect(renderTable(['NAMESPACE', 'LOCKED', 'WHY'], ROWS, { paint: marked })).toEqual([
      'NAMESPACE   LOCKED   WHY',
      'tenant-a    <red>yes</red>      one',
      'b           <green>no</green>',
    ]);
  });

  describe('in 40 columns of a terminal', () => {
    const table = (...rows: string[][]): string[] =>
      renderTable(['NAMESPACE', 'VM', 'WHY'], rows, { paint: plain, columns: 40 });

    test('is as it is where it fits', () => {
      expect(table(['tenant', 'vm0', 'one'])).toEqual(['NAMESPACE   VM    WHY', 'tenant      vm0   one']);
    });

    test('wraps its last column between words, and loses nothing', () => {
      expect(table(['a', 'vm0', 'quota lacks requests.cpu=605m, requests.memory=748Mi'])).toEqual([
        'NAMESPACE   VM    WHY',
        'a           vm0   quota lacks',
        '                  requests.cpu=605m,',
        '                  requests.memory=748Mi',
      ]);
    });

    test.each([
      ['a long name', ['tenant-with-a-very-long-name-of-its-own', 'vm0', 'quota lacks requests.cpu=605m']],
      ['wide characters', ['テナント'.repeat(5), '仮想マシン', 'クォータ が '.repeat(9)]],
      ['one long word', ['a', 'vm0', 'x'.repeat(100)]],
      ['every column long', ['n'.repeat(63), 'v'.repeat(63), 'why '.repeat(30)]],
      ['families of one width', ['👨‍👩‍👧‍👦'.repeat(30), 'é'.repeat(40), 'why']],
    ])('has no longer line for %s', (_, row) => {
      for (const line of table(row)) expect(stringWidth(line)).toBeLessThanOrEqual(40);
    });
  });

  test('without rows is its headers', () => {
    expect(renderTable(['A', 'B'], [], { paint: plain })).toEqual(['A   B']);
  });
});
