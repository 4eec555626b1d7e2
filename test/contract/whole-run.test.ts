import { describe, expect, test } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { namedTestProblems, readRows, rowsIn, tableProblems } from '../whole-run/incumbent.ts';
import { rightsProblems, type UsedRight } from '../whole-run/rights.ts';

/** test/whole-run/reporter.ts judges whole runs only: that it can fail is shown here. */

describe('docs/incumbent.md', () => {
  const rows = readRows(fileURLToPath(new URL('../../docs/incumbent.md', import.meta.url)));

  test('has a row for each way to fail', () => {
    expect(tableProblems(rows)).toEqual([]);
    expect(tableProblems(rows.slice(1))).toEqual([expect.stringMatching(/^the rows are F2/)]);
  });

  test('a row that mentions a file of tests and none of them is told', () => {
    const row = rowsIn('| F1 | a | b | `test/x.test.ts › one` <br> `functions/y.test.ts` |');
    expect(tableProblems([...row, ...rows.slice(1)])).toEqual([
      'F1: no test of functions/y.test.ts is named, as `file › name`',
    ]);
  });

  test('each row names a test, or says that it is documented or open', () => {
    const silent = rows.filter((row) => row.tests.length === 0 && !row.open && !row.documented);
    expect(silent.map(({ failure }) => failure)).toEqual([]);
  });
});

describe('the tests that the table names', () => {
  const rows = rowsIn(
    '| F1 | a | b | `test/integration/x.test.ts › block › one` <br> `functions/y.test.ts › block` |\n' +
      '| F2 | a | **open**: later | |',
  );
  const ran = (file: string, name: string, status = 'passed') => ({ file, name, status });
  const ALL = new Set(['test/integration/x.test.ts', 'functions/y.test.ts']);
  const ONE = ran('test/integration/x.test.ts', 'block › one');
  const BLOCK = [ran('functions/y.test.ts', 'block › a'), ran('functions/y.test.ts', 'block › b')];

  test('are read', () => {
    expect(rows.map(({ failure, tests, open }) => [failure, tests.length, open])).toEqual([
      ['F1', 2, false],
      ['F2', 0, true],
    ]);
  });

  test.each<[string, { ran: ReturnType<typeof ran>[]; files?: ReadonlySet<string>; want: string[] }]>([
    ['all there, all passed', { ran: [ONE, ...BLOCK], want: [] }],
    [
      'one is not there',
      { ran: BLOCK, want: ['F1: there is no test test/integration/x.test.ts › block › one'] },
    ],
    [
      'one did not pass',
      {
        ran: [ran('test/integration/x.test.ts', 'block › one', 'failed'), ...BLOCK],
        want: ['F1: failed: test/integration/x.test.ts › block › one'],
      },
    ],
    [
      'one of a block was skipped',
      {
        ran: [
          ONE,
          ran('functions/y.test.ts', 'block › a', 'pending'),
          ran('functions/y.test.ts', 'block › b'),
        ],
        want: ['F1: pending: functions/y.test.ts › block › a'],
      },
    ],
    ['a file that did not run is not judged', { ran: [ONE], files: new Set([ONE.file]), want: [] }],
    [
      'a name that only begins alike is another',
      {
        ran: [ONE, ran('functions/y.test.ts', 'blocked › a')],
        want: ['F1: there is no test functions/y.test.ts › block'],
      },
    ],
  ])('%s', (_, { ran: all, files = ALL, want }) => {
    expect(namedTestProblems(rows, all, files)).toEqual(want);
  });
});

describe('rights', () => {
  const role = (kind: string, rules: object[]): KubernetesObject =>
    ({ kind, metadata: { name: 'some', namespace: 'mtq-system' }, rules }) as unknown as KubernetesObject;
  const binding = (kind: string, roleKind: string): KubernetesObject =>
    ({
      kind,
      metadata: { name: 'some', namespace: 'mtq-system' },
      roleRef: { kind: roleKind, name: 'some' },
      subjects: [{ kind: 'ServiceAccount', name: 'mtq-lower', namespace: 'mtq-system' }],
    }) as unknown as KubernetesObject;
  const objects = [
    role('ClusterRole', [
      { apiGroups: [''], resources: ['resourcequotas', 'resourcequotas/status'], verbs: ['update'] },
    ]),
    binding('ClusterRoleBinding', 'ClusterRole'),
    role('Role', [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['own'], verbs: ['get'] }]),
    binding('RoleBinding', 'Role'),
  ];
  const use = (verb: string, resource: string, more: Partial<UsedRight> = {}): UsedRight => ({
    account: 'mtq-lower',
    verb,
    apiGroup: '',
    resource,
    ...more,
  });
  const SECRET = use('get', 'secrets', { namespace: 'mtq-system', name: 'own' });
  const ALL = [use('update', 'resourcequotas'), use('update', 'resourcequotas/status'), SECRET];

  test.each<[string, UsedRight[], string[]]>([
    ['all of it is used, and nothing else', ALL, []],
    [
      'a subresource is a right of its own',
      [use('update', 'resourcequotas'), SECRET],
      ['granted, and no call used it: mtq-lower update resourcequotas/status'],
    ],
    [
      'by another account is not by this one',
      [...ALL.slice(1), use('update', 'resourcequotas', { account: 'mtq-raise' })],
      [
        'granted, and no call used it: mtq-lower update resourcequotas',
        'asked for, but not granted: mtq-raise update resourcequotas',
      ],
    ],
    [
      'another name than the rule is about',
      [...ALL.slice(0, 2), { ...SECRET, name: 'other' }],
      [
        'granted, and no call used it: mtq-lower get secrets (own)',
        'asked for, but not granted: mtq-lower get secrets (other)',
      ],
    ],
    [
      'no resource at all',
      [...ALL, use('get', '/openapi/v3')],
      ['asked for, but not granted: mtq-lower get /openapi/v3'],
    ],
  ])('%s', (_, used, want) => {
    expect(rightsProblems(objects, used)).toEqual(want);
  });
});
