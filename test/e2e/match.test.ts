import { describe, expect, test } from '@jest/globals';
import { differences } from './match.ts';

const FOUND = {
  metadata: { name: 'quota', annotations: { 'a/b': 'c' } },
  spec: { hard: { pods: '5', 'requests.cpu': '1500m' } },
  conditions: [
    { type: 'Ready', status: 'True', message: 'fine' },
    { type: 'Blocking', status: 'False' },
  ],
};

describe('differences', () => {
  test.each<[string, unknown]>([
    ['nothing is wanted', {}],
    ['the same', FOUND],
    ['some of it', { spec: { hard: { pods: '5' } } }],
    ['what must not be there', { metadata: { annotations: { lock: null }, labels: null } }],
    ['an element of a list, in part', { conditions: [{ type: 'Blocking', status: 'False' }] }],
    ['elements in another order', { conditions: [{ type: 'Blocking' }, { type: 'Ready' }] }],
  ])('%s: none', (_what, wanted) => {
    expect(differences(wanted, FOUND)).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['another text', { spec: { hard: { pods: '6' } } }, '.spec.hard.pods is "5", not "6"'],
    ['missing', { spec: { hard: { memory: '1Gi' } } }, '.spec.hard.memory is nothing, not "1Gi"'],
    [
      'below what is no object',
      { spec: { hard: { pods: { of: 1 } } } },
      '.spec.hard.pods.of is nothing, not 1',
    ],
    [
      'there all the same',
      { metadata: { annotations: { 'a/b': null } } },
      '.metadata.annotations.a/b is there: "c"',
    ],
    [
      'two halves of different elements',
      { conditions: [{ type: 'Ready', status: 'False' }] },
      '.conditions[0]: there is no {"type":"Ready","status":"False"} in',
    ],
    ['an element of no list', { spec: [{ a: 1 }] }, '.spec[0]: there is no {"a":1} in'],
  ])('%s', (_what, wanted, want) => {
    expect(differences(wanted, FOUND)).toEqual([expect.stringContaining(want)]);
  });

  test('reports each difference', () => {
    expect(differences({ a: 1, b: { c: 2 } }, {})).toHaveLength(2);
  });
});
