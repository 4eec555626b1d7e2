import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ATTACKS, HIDING } from '../../test/support/foreign-attacks.ts';
import { structured } from './structured.ts';

test.each(['no', 'on', 'y', '0b1', '1e3', 'null'])(
  'a namespace of the name %s is a text for kubectl too, which reads YAML 1.1',
  (namespace) => {
    expect(structured('yaml', { namespace })).toEqual([`namespace: "${namespace}"`]);
  },
);

test('a plain name needs no quotes', () => {
  expect(structured('yaml', { namespace: 'tenant' })).toEqual(['namespace: tenant']);
});

test.each(ATTACKS)('%s is read again as it was, and shows nothing but text', (_, attack) => {
  const value = { [`${attack}.`]: [attack, { of: `begin ${attack} end` }] };
  for (const format of ['json', 'yaml'] as const) {
    const lines = structured(format, value);
    expect(lines.filter((line) => line.search(HIDING) >= 0)).toEqual([]);
    expect(lines.filter((line) => line.trimStart().startsWith('forged'))).toEqual([]);
    expect(format === 'json' ? JSON.parse(lines.join('\n')) : parse(lines.join('\n'))).toEqual(value);
  }
});
