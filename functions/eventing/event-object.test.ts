import { expect, test } from '@jest/globals';
import { MAX_ENTRIES } from '../domain/bounded.ts';
import { KIND } from '../domain/names.ts';
import { parseEventObject } from './event-object.ts';

const namespace = 'tenant';
const amounts = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${String(index)}`, '1']));
const conditions = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ type: String(index), status: 'True' }));

const fields: Readonly<Record<string, [kind: string, of: (count: number) => object]>> = {
  'amounts in spec.hard': [KIND.quota.kind, (count) => ({ spec: { hard: amounts(count) } })],
  'amounts in status.hard': [KIND.quota.kind, (count) => ({ spec: {}, status: { hard: amounts(count) } })],
  'amounts in status.used': [KIND.quota.kind, (count) => ({ spec: {}, status: { used: amounts(count) } })],
  annotations: [
    KIND.quota.kind,
    (count) => ({ spec: {}, metadata: { namespace, annotations: amounts(count) } }),
  ],
  'conditions of a migration': [
    KIND.migration.kind,
    (count) => ({ status: { conditions: conditions(count) } }),
  ],
  'conditions of a VMMRQ': [KIND.vmmrq.kind, (count) => ({ status: { conditions: conditions(count) } })],
};

test.each(Object.entries(fields))('an object with too many %s is not read', (_, [kind, of]) => {
  const read = (count: number): unknown =>
    parseEventObject({ kind, metadata: { namespace }, ...of(count) }, { kind, namespace });

  expect(read(MAX_ENTRIES)).toBeDefined();
  expect(read(MAX_ENTRIES + 1)).toBeUndefined();
});

test.each([
  ['name', 253],
  ['uid', 64],
])('an object whose %s has more than %d characters is not read', (field, most) => {
  const { kind } = KIND.migration;
  const read = (length: number): unknown =>
    parseEventObject({ kind, metadata: { namespace, [field]: 'x'.repeat(length) } }, { kind, namespace });

  expect(read(most)).toBeDefined();
  expect(read(most + 1)).toBeUndefined();
});
