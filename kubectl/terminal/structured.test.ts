import { expect, test } from '@jest/globals';
import { structured } from './structured.ts';

test.each(['no', 'on', 'y', '0b1', '1e3', 'null'])(
  'a namespace of the name %s is a text for kubectl too, which reads YAML 1.1',
  (namespace) => {
    expect(structured('yaml', { namespace })).toBe(`namespace: "${namespace}"`);
  },
);

test('a plain name needs no quotes', () => {
  expect(structured('yaml', { namespace: 'tenant' })).toBe('namespace: tenant');
});
