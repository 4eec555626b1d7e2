import { describe, expect, test } from '@jest/globals';
import { compileFilter } from './filter.ts';
import type { Trigger } from './manifests.ts';

type Spec = Pick<Trigger['spec'], 'filter' | 'filters'>;

const EVENT = {
  attributes: {
    ...{ specversion: '1.0', id: '1', source: 's' },
    type: 'dev.knative.apiserver.resource.add',
    kind: 'Pod',
    namespace: '',
  },
  contentType: 'application/json',
  data: Buffer.alloc(0),
};

const ADD = { suffix: { type: '.add' } };
const POD = { exact: { kind: 'Pod' } };
const NODE = { exact: { kind: 'Node' } };

describe('which events a Trigger wants', () => {
  test.each<{ name: string; spec: Spec; want: boolean }>([
    { name: 'no filter: all', spec: {}, want: true },
    { name: 'an empty filter: all', spec: { filter: {} }, want: true },
    { name: 'attributes: equal', spec: { filter: { attributes: { kind: 'Pod' } } }, want: true },
    {
      name: 'attributes: one differs',
      spec: { filter: { attributes: { kind: 'Pod', id: '2' } } },
      want: false,
    },
    { name: 'attributes: "" is any value', spec: { filter: { attributes: { kind: '' } } }, want: true },
    { name: 'attributes: "" is not none', spec: { filter: { attributes: { owner: '' } } }, want: false },
    { name: 'attributes: "" is not empty', spec: { filter: { attributes: { namespace: '' } } }, want: false },
    { name: 'exact', spec: { filters: [POD] }, want: true },
    {
      name: 'exact, two of which one differs',
      spec: { filters: [{ exact: { kind: 'Pod', id: '2' } }] },
      want: false,
    },
    { name: 'exact "": everything, as measured', spec: { filters: [{ exact: { kind: '' } }] }, want: true },
    { name: 'exact, no such attribute', spec: { filters: [{ exact: { owner: 'x' } }] }, want: false },
    {
      name: 'datacontenttype',
      spec: { filters: [{ exact: { datacontenttype: 'application/json' } }] },
      want: true,
    },
    { name: 'prefix', spec: { filters: [{ prefix: { type: 'dev.knative.' } }] }, want: true },
    { name: 'prefix, no such attribute', spec: { filters: [{ prefix: { owner: 'x' } }] }, want: false },
    { name: 'suffix', spec: { filters: [ADD] }, want: true },
    { name: 'several: all of them', spec: { filters: [POD, { suffix: { type: '.delete' } }] }, want: false },
    { name: 'all', spec: { filters: [{ all: [POD, ADD] }] }, want: true },
    { name: 'any', spec: { filters: [{ any: [NODE, ADD] }] }, want: true },
    { name: 'any of none', spec: { filters: [{ any: [NODE, { exact: { id: '2' } }] }] }, want: false },
    { name: 'not', spec: { filters: [{ not: NODE }] }, want: true },
    { name: 'nested', spec: { filters: [{ all: [POD, { not: { any: [NODE, ADD] } }] }] }, want: false },
    {
      name: 'filters win over filter',
      spec: { filter: { attributes: { kind: 'Node' } }, filters: [POD] },
      want: true,
    },
    {
      name: 'no filters: filter',
      spec: { filter: { attributes: { kind: 'Node' } }, filters: [] },
      want: false,
    },
  ])('$name', ({ spec, want }) => {
    expect(compileFilter(spec)(EVENT)).toBe(want);
  });
});

test.each<{ filter: Record<string, unknown>; why: RegExp }>([
  { filter: { cesql: "type = 'x'" }, why: /cesql filters are not modelled/ },
  { filter: { regex: { type: 'x' } }, why: /no filter dialect regex/ },
  { filter: {}, why: /exactly one dialect/ },
  { filter: { ...POD, ...ADD }, why: /exactly one dialect/ },
  { filter: { exact: {} }, why: /no attribute/ },
  { filter: { exact: { id: 1 } }, why: /no text/ },
  { filter: { prefix: { type: '' } }, why: /empty/ },
  { filter: { any: [] }, why: /at least one/ },
  { filter: { all: POD }, why: /at least one/ },
  { filter: { not: 'x' }, why: /an object is needed/ },
])('refused: $filter', ({ filter, why }) => {
  expect(() => compileFilter({ filters: [filter] })).toThrow(why);
});
