import { describe, expect, test } from '@jest/globals';
import { mergedLines, union, type Sample } from './merge.ts';

const NOTHING: Sample['on'] = [];
const MINIMAL: Sample['on'] = ['minimal'];
const KAFKA: Sample['on'] = ['kafka-broker'];
const BOTH: Sample['on'] = ['minimal', 'kafka-broker'];
const IF_MINIMAL = '{{- if .Values.components.minimal }}';
const END = '{{- end }}';

describe('merged lines', () => {
  test.each<[string, [Sample['on'], unknown][], string[]]>([
    [
      'are YAML where all is the same',
      [
        [NOTHING, { a: [1] }],
        [MINIMAL, { a: [1] }],
      ],
      ['a:', '  - 1'],
    ],
    [
      'quote what Helm would read as a boolean',
      [
        [NOTHING, { a: 'on' }],
        [MINIMAL, { a: 'on' }],
      ],
      ['a: "on"'],
    ],
    [
      'have a condition for a key of one switch',
      [
        [NOTHING, { a: 1 }],
        [MINIMAL, { a: 1, b: { c: 2 } }],
        [KAFKA, { a: 1 }],
      ],
      ['a: 1', IF_MINIMAL, 'b:', '  c: 2', END],
    ],
    [
      'have a condition for what a switch removes',
      [
        [NOTHING, { a: 1, b: 2 }],
        [MINIMAL, { a: 1 }],
      ],
      ['a: 1', '{{- if not .Values.components.minimal }}', 'b: 2', END],
    ],
    [
      'have a condition for what each of two switches removes',
      [
        [NOTHING, { a: 1, b: 2 }],
        [MINIMAL, { a: 1 }],
        [KAFKA, { a: 1 }],
      ],
      [
        'a: 1',
        '{{- if and (not .Values.components.minimal) (not .Values.components.kafkaBroker) }}',
        'b: 2',
        END,
      ],
    ],
    [
      'choose between values, and without a switch take the first',
      [
        [NOTHING, { a: 'one' }],
        [MINIMAL, { a: 'two' }],
        [KAFKA, { a: 'three' }],
      ],
      [
        ...[IF_MINIMAL, 'a: two', '{{- else if .Values.components.kafkaBroker }}', 'a: three'],
        ...['{{- else }}', 'a: one', END],
      ],
    ],
    [
      'compare within what a switch adds only with installations that have it',
      [
        [NOTHING, {}],
        [MINIMAL, { a: { b: 1 } }],
        [KAFKA, {}],
        [BOTH, { a: { b: 1, c: 2 } }],
      ],
      [IF_MINIMAL, 'a:', '  b: 1', '{{- if .Values.components.kafkaBroker }}', '  c: 2', END, END],
    ],
    [
      'keep the items of lists apart by their names',
      [
        [NOTHING, [{ name: 'a', value: 1 }, { name: 'c' }]],
        [MINIMAL, [{ name: 'a', value: 1, more: 2 }, { name: 'b' }, { name: 'c' }]],
      ],
      ['- name: a', '  value: 1', IF_MINIMAL, '  more: 2', END, IF_MINIMAL, '- name: b', END, '- name: c'],
    ],
    [
      'have the first field of an item on a line of its own, if it is conditional',
      [
        [NOTHING, [{ name: 'a' }]],
        [MINIMAL, [{ b: 1, name: 'a' }]],
      ],
      ['-', IF_MINIMAL, '  b: 1', END, '  name: a'],
    ],
    [
      'say that openshift is a namespace of KubeVirt',
      [
        [NOTHING, {}],
        [['openshift'], { a: 1 }],
      ],
      ['{{- if ne .Values.kubevirtNamespace "kubevirt" }}', 'a: 1', END],
    ],
  ])('%s', (_what, samples, lines) => {
    expect(mergedLines(samples.map(([on, value]) => ({ on, value })))).toEqual(lines);
  });

  test.each<[string, [Sample['on'], unknown][], string]>([
    [
      'for which one of two switches must be on',
      [
        [NOTHING, {}],
        [MINIMAL, { a: 1 }],
        [KAFKA, { a: 1 }],
        [BOTH, {}],
      ],
      'no two switches of the chart decide for [minimal], [kafka-broker]',
    ],
    [
      'of two kinds',
      [
        [NOTHING, [{ name: 'a', b: 1 }]],
        [MINIMAL, { a: 1 }],
      ],
      'different kinds',
    ],
    [
      'in a list with the same item twice',
      [
        [NOTHING, [1, 1]],
        [MINIMAL, [1]],
      ],
      'are the same',
    ],
  ])('refuse a difference %s', (_what, samples, why) => {
    expect(() => mergedLines(samples.map(([on, value]) => ({ on, value })))).toThrow(why);
  });
});

test('a union keeps the order of each list, where they agree', () => {
  const lists = [
    ['a', 'c'],
    ['a', 'b', 'c', 'd'],
    ['z', 'a'],
  ];
  expect(union(lists)).toEqual(['z', 'a', 'b', 'c', 'd']);
});
