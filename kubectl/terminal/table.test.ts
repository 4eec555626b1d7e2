import { describe, expect, test } from '@jest/globals';
import { renderTable, type Paint } from './table.ts';

const plain: Paint = (_, text) => text;
const marked: Paint = (style, text) => `<${style}>${text}</${style}>`;
const ROWS = [
  ['tenant-a', { text: 'yes', style: 'red' }, 'one'],
  ['b', { text: 'no', style: 'green' }, ''],
] as const;

describe('a table', () => {
  test('has columns as wide as their widest cells, and nothing after the last', () => {
    expect(renderTable(['NAMESPACE', 'LOCKED', 'WHY'], ROWS, plain)).toEqual([
      'NAMESPACE   LOCKED   WHY',
      'tenant-a    yes      one',
      'b           no',
    ]);
  });

  test('is as wide with colours as without', () => {
    expect(renderTable(['NAMESPACE', 'LOCKED', 'WHY'], ROWS, marked)).toEqual([
      'NAMESPACE   LOCKED   WHY',
      'tenant-a    <red>yes</red>      one',
      'b           <green>no</green>',
    ]);
  });

  test('without rows is its headers', () => {
    expect(renderTable(['A', 'B'], [], plain)).toEqual(['A   B']);
  });
});
