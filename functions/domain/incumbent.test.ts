import { describe, expect, test } from '@jest/globals';
import { metadata } from '../../test/support/builders/object.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { FIELD_MANAGER } from './names.ts';
import { incumbentAnywhere, incumbentOf, type IncumbentSigns } from './incumbent.ts';
import type { Vmmrq, VmmrqStatus } from './objects.ts';

const withStatus = (status: VmmrqStatus): Vmmrq => aVmmrq((vmmrq) => ({ ...vmmrq, status }));
const RECORD = [{ name: 'quota', spec: { hard: { pods: '10' } } }];
const OURS = [{ type: 'Ready', status: 'True' as const }];

const blocked = withStatus({ migrationsToBlockingResourceQuotas: { mig0: ['quota'] }, conditions: OURS });
const managedBy = (
  manager: string,
  { metadata: own, ...vmmrq }: Vmmrq,
  entries = { 'f:mig0': {} },
): Vmmrq => {
  const fieldsV1 = { 'f:status': { 'f:migrationsToBlockingResourceQuotas': { '.': {}, ...entries } } };
  const managedFields = [
    { manager: 'kubectl', fieldsV1: { 'f:spec': {} } },
    { manager, fieldsV1 },
  ];
  return { ...vmmrq, metadata: { ...own, managedFields } };
};

const signs = (different: Partial<IncumbentSigns>): IncumbentSigns => ({
  incumbents: new Map(),
  configurations: new Map(),
  vmmrqs: [],
  ...different,
});
const called = (name: string): Map<string, { metadata: ReturnType<typeof metadata> }> =>
  new Map([[name, { metadata: metadata(name) }]]);
const MTQ = signs({ incumbents: called('mtq') });
const LOCK = signs({ configurations: called('lock.tenant.com') });
const ofVmmrq = (status: VmmrqStatus): IncumbentSigns => signs({ vmmrqs: [withStatus(status)] });

describe('the incumbent in a namespace', () => {
  test.each<[string, IncumbentSigns, RegExp | undefined]>([
    ['nothing shows it', signs({ vmmrqs: [aVmmrq()] }), undefined],
    ['its own object', MTQ, /MTQ object mtq/],
    ['its lock', LOCK, /lock\.tenant\.com/],
    ['its lock of another namespace', signs({ configurations: called('lock.other.com') }), undefined],
    ['its record', ofVmmrq({ originalBlockingResourceQuotas: RECORD }), /record .* set the quotas to/],
    [
      'its record, beside our conditions',
      ofVmmrq({ originalBlockingResourceQuotas: RECORD, conditions: OURS }),
      /record/,
    ],
    [
      'what it says is blocked, without our conditions',
      ofVmmrq({ migrationsToBlockingResourceQuotas: { mig0: ['quota'] } }),
      /record/,
    ],
    ['what we say is blocked', signs({ vmmrqs: [blocked] }), undefined],
    [
      'what another says is blocked, beside our conditions',
      signs({ vmmrqs: [managedBy('mtq-controller', blocked)] }),
      /record/,
    ],
    [
      'what we say is blocked, as the API server stores it',
      signs({ vmmrqs: [managedBy(FIELD_MANAGER, blocked)] }),
      undefined,
    ],
    [
      'what we say is blocked, in a field that another wrote first',
      signs({ vmmrqs: [managedBy('mtq-controller', blocked, {} as never)] }),
      undefined,
    ],
    [
      'its record once it has restored everything',
      ofVmmrq({ migrationsToBlockingResourceQuotas: {}, originalBlockingResourceQuotas: [] }),
      undefined,
    ],
  ])('%s', (_, found, want) => {
    const said = incumbentOf(found, 'tenant');
    if (want === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(want);
  });

  test('its record in another namespace is none', () => {
    expect(incumbentOf(ofVmmrq({ originalBlockingResourceQuotas: RECORD }), 'other')).toBeUndefined();
  });
});

test.each<[string, IncumbentSigns, boolean]>([
  ['nothing', signs({ vmmrqs: [aVmmrq()] }), false],
  ['its own object', MTQ, true],
  ['a lock of a known namespace', LOCK, true],
  [
    'a webhook that is called like a lock of a namespace',
    signs({ configurations: called('lock.acme.com') }),
    false,
  ],
  ['a record', ofVmmrq({ originalBlockingResourceQuotas: RECORD }), true],
])('the incumbent anywhere: %s', (_, found, want) => {
  expect(incumbentAnywhere(found, new Set(['tenant'])) !== undefined).toBe(want);
});
