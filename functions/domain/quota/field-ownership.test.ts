import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ownerOf } from '../../../test/support/builders/quota.ts';
import { givenBack, ownersOf, type Owner } from './field-ownership.ts';
import { FIELD_MANAGER } from '../names.ts';
import type { FieldsV1, ManagedFieldsEntry } from '../objects.ts';

const flux: Owner = { manager: 'flux', operation: 'Apply', apiVersion: 'v1', time: '2026-11-21T05:00:00Z' };
const edit: Owner = { manager: 'kubectl-edit', operation: 'Update', apiVersion: 'v1' };
const OURS = { manager: FIELD_MANAGER, operation: 'Update', apiVersion: 'v1' };
const STATUS: ManagedFieldsEntry = {
  manager: 'kube-controller-manager',
  operation: 'Update',
  apiVersion: 'v1',
  subresource: 'status',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:status': { 'f:hard': { 'f:cpu': {} } } },
};
const withHard = (owner: ManagedFieldsEntry, hard: FieldsV1): ManagedFieldsEntry => ({
  fieldsType: 'FieldsV1',
  ...owner,
  fieldsV1: { 'f:spec': { 'f:hard': hard } },
});

describe('givenBack', () => {
  test.each<[string, { entries: ManagedFieldsEntry[]; owners: Owner[]; want: ManagedFieldsEntry[] }]>([
    [
      'an owner with other keys left gets it beside them',
      {
        entries: [ownerOf('pods')(flux), ownerOf('cpu')(OURS), STATUS],
        owners: [flux],
        want: [ownerOf('pods', 'cpu')(flux), STATUS],
      },
    ],
    [
      'an owner of nothing else comes back as it was, its time included',
      { entries: [ownerOf('cpu')(OURS)], owners: [flux], want: [ownerOf('cpu')(flux)] },
    ],
    [
      'several owners',
      {
        entries: [ownerOf('cpu', 'pods')(OURS)],
        owners: [flux, edit],
        want: [ownerOf('pods')(OURS), ownerOf('cpu')(flux), ownerOf('cpu')(edit)],
      },
    ],
    [
      'what else we own stays ours',
      {
        entries: [
          {
            ...OURS,
            fieldsV1: { 'f:metadata': { 'f:labels': {} }, 'f:spec': { 'f:hard': { 'f:cpu': {} } } },
          },
        ],
        owners: [],
        want: [{ ...OURS, fieldsV1: { 'f:metadata': { 'f:labels': {} } } }],
      },
    ],
    [
      'who owns the map itself still does',
      {
        entries: [withHard(edit, {}), ownerOf('cpu')(OURS)],
        owners: [edit],
        want: [withHard(edit, { '.': {}, 'f:cpu': {} })],
      },
    ],
    [
      'who has taken it again keeps it',
      {
        entries: [ownerOf('cpu')(flux)],
        owners: [flux, edit],
        want: [ownerOf('cpu')(flux), ownerOf('cpu')(edit)],
      },
    ],
    [
      'an applier is the same in every version of the API',
      {
        entries: [ownerOf('pods')({ ...flux, apiVersion: 'v2' })],
        owners: [flux],
        want: [ownerOf('pods', 'cpu')({ ...flux, apiVersion: 'v2' })],
      },
    ],
    [
      'an applier and an updater of one name are two',
      {
        entries: [ownerOf('pods')({ ...flux, operation: 'Update' })],
        owners: [flux],
        want: [ownerOf('pods')({ ...flux, operation: 'Update' }), ownerOf('cpu')(flux)],
      },
    ],
    [
      'what we wrote through a subresource is not about the spec',
      { entries: [{ ...STATUS, ...OURS }], owners: [], want: [{ ...STATUS, ...OURS }] },
    ],
  ])('%s', (_, { entries, owners, want }) => {
    expect(givenBack(entries, 'cpu', owners)).toEqual(want);
  });
});

describe('ownersOf', () => {
  test('we are none of them: our ownership is never wanted back', () => {
    expect(ownersOf([ownerOf('cpu')(OURS), ownerOf('cpu')(flux), ownerOf('pods')(edit)], 'cpu')).toEqual([
      flux,
    ]);
  });

  test('an entry that the API server would not take back is left out', () => {
    const odd = [
      { ...flux, manager: '' },
      { ...flux, operation: 'Own' },
      { manager: 'x', operation: 'Apply' },
    ];
    const entries = odd.map((owner) => ({
      ...ownerOf('cpu')(owner),
      apiVersion: (owner as Owner).apiVersion,
    }));
    expect(ownersOf(entries, 'cpu')).toEqual([]);
  });
});

/** Sets of fields, as the API server sees them: the reference that the tree is held against. */
describe('as sets of fields', () => {
  const KEYS = ['cpu', 'memory', 'pods'];
  const PATHS = [
    'f:metadata/f:labels/f:team',
    'f:spec/f:hard',
    ...KEYS.map((key) => `f:spec/f:hard/f:${key}`),
  ];
  const MANAGERS: Owner[] = [flux, edit, { ...flux, manager: 'argo' }, { ...edit, manager: 'flux' }];

  /** How the API server writes a set (structured-merge-diff, fieldpath/serialize.go). */
  const written = (paths: readonly string[]): FieldsV1 => {
    const below = Map.groupBy(
      paths.filter((path) => path !== ''),
      (path) => path.split('/')[0] ?? '',
    );
    const children = [...below].map(([part, all]): [string, FieldsV1] => [
      part,
      written(all.map((path) => path.slice(part.length + 1))),
    ]);
    const itself = paths.includes('') && children.length > 0 ? { '.': {} } : {};
    return { ...itself, ...Object.fromEntries(children) };
  };
  /** How it reads one. */
  const read = (fields: FieldsV1, above = ''): string[] => {
    const children = Object.entries(fields).filter(([part]) => part !== '.');
    const isOwned = above !== '' && (children.length === 0 || '.' in fields);
    const deeper = children.flatMap(([part, child]) => read(child, above === '' ? part : `${above}/${part}`));
    return [...(isOwned ? [above] : []), ...deeper];
  };
  const setsOf = (entries: readonly ManagedFieldsEntry[]): Record<string, string[]> =>
    Object.fromEntries(
      entries.map(({ manager, operation, fieldsV1 }) => [
        `${manager} ${operation}`,
        read(fieldsV1 ?? {}).toSorted(),
      ]),
    );

  const aManagedFields = fc
    .tuple(...MANAGERS.map(() => fc.subarray(PATHS, { minLength: 0 })))
    .map((sets) =>
      sets.flatMap((set, index): ManagedFieldsEntry[] =>
        set.length === 0 ? [] : [{ ...MANAGERS[index], fieldsType: 'FieldsV1', fieldsV1: written(set) }],
      ),
    );

  /** What the API server makes of a raise: the keys go from everybody to us; whoever is left with nothing is gone. */
  const taken = (entries: readonly ManagedFieldsEntry[], keys: readonly string[]): ManagedFieldsEntry[] => {
    const paths = keys.map((key) => `f:spec/f:hard/f:${key}`);
    const left = entries.flatMap((entry) => {
      const set = read(entry.fieldsV1 ?? {}).filter((path) => !paths.includes(path));
      return set.length === 0 ? [] : [{ ...entry, fieldsV1: written(set) }];
    });
    return [
      ...left,
      { ...OURS, fieldsType: 'FieldsV1', fieldsV1: written(['f:metadata/f:annotations', ...paths]) },
    ];
  };

  test('the sets are written and read as they are', () => {
    fc.assert(
      fc.property(fc.subarray(PATHS, { minLength: 1 }), (set) => {
        expect(read(written(set)).toSorted()).toEqual(set.toSorted());
      }),
    );
  });

  test('a raise and its way back leave everybody with what they had, and us with no key', () => {
    fc.assert(
      fc.property(aManagedFields, fc.subarray(KEYS, { minLength: 1 }), (before, keys) => {
        const owners = keys.map((key) => ({ key, owners: ownersOf(before, key) }));
        const after = owners.reduce(
          (entries, { key, owners: all }) => givenBack(entries, key, all),
          taken(before, keys),
        );
        const { [`${FIELD_MANAGER} Update`]: ours, ...others } = setsOf(after);
        expect(others).toEqual(setsOf(before));
        expect(ours).toEqual(['f:metadata/f:annotations']);
      }),
    );
  });
});
