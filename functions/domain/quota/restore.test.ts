import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aHardList, amountOf, aVmmrqList } from '../../../test/support/builders/arbitraries.ts';
import { annotated, labelled, type Change } from '../../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  enforced,
  hard,
  holding,
  ownerOf,
  raisedBy,
  settled,
  specHard,
} from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import { grantOf, type Grant } from './grant.ts';
import { ANNOTATION, FIELD_MANAGER, LABEL } from '../names.ts';
import type { ManagedFieldsEntry, ResourceList, ResourceQuota } from '../objects.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import { handedBack, isRaiseEnforced, releasedQuota, restoredQuota, type ForeignEdit } from './restore.ts';

describe('restoredQuota', () => {
  interface Case {
    readonly grant: Partial<Grant>;
    readonly now: ResourceList;
    readonly want: ResourceList;
    readonly edits?: readonly ForeignEdit[];
  }
  const grant = { original: { cpu: '1405m', memory: '2Gi' }, raised: { cpu: '2605m', memory: '3614838k' } };

  test.each<[string, Case]>([
    [
      'the exact texts come back',
      { grant, now: { cpu: '2605m', memory: '3614838k' }, want: { cpu: '1405m', memory: '2Gi' } },
    ],
    [
      'where it is equal by value, as the API server made it canonical',
      { grant, now: { cpu: '2.605', memory: '3614838e3' }, want: { cpu: '1405m', memory: '2Gi' } },
    ],
    [
      'keys that were not raised stay as they are',
      {
        grant,
        now: { cpu: '2605m', memory: '3614838k', pods: '11' },
        want: { cpu: '1405m', memory: '2Gi', pods: '11' },
      },
    ],
    [
      'somebody lowered a raised key: theirs stands',
      {
        grant,
        now: { cpu: '1', memory: '3614838k' },
        want: { cpu: '1', memory: '2Gi' },
        edits: [{ key: 'cpu', raised: '2605m', now: '1' }],
      },
    ],
    [
      'somebody raised one further: theirs stands',
      {
        grant,
        now: { cpu: '5', memory: '3614838k' },
        want: { cpu: '5', memory: '2Gi' },
        edits: [{ key: 'cpu', raised: '2605m', now: '5' }],
      },
    ],
    [
      'somebody dropped one: it is not added again',
      {
        grant,
        now: { memory: '3614838k' },
        want: { memory: '2Gi' },
        edits: [{ key: 'cpu', raised: '2605m', now: undefined }],
      },
    ],
    [
      'somebody put back a part already: no edit',
      { grant, now: { cpu: '1405m', memory: '3614838k' }, want: { cpu: '1405m', memory: '2Gi' } },
    ],
    [
      'somebody wrote the original otherwise: theirs stands, to the letter',
      {
        grant,
        now: { cpu: '1.405', memory: '3614838k' },
        want: { cpu: '1.405', memory: '2Gi' },
        edits: [{ key: 'cpu', raised: '2605m', now: '1.405' }],
      },
    ],
    [
      'a raised key without an original is nothing that we know of',
      { grant: { original: {}, raised: { cpu: '2605m' } }, now: { cpu: '2605m' }, want: { cpu: '2605m' } },
    ],
  ])('%s', (_, { grant: different, now, want, edits = [] }) => {
    const back = restoredQuota(aQuota(hard(now)), aGrant(different));
    expect(back.quota.spec.hard).toEqual(want);
    expect(back.foreignEdits).toEqual(edits);
    expect(back.changed).toBe(JSON.stringify(want) !== JSON.stringify(now));
  });

  test('the record and the label stay: status.hard may still be raised', () => {
    const raised = aQuota(labelled('env', 'test'), raisedBy(aVmmrq()));
    const { quota } = restoredQuota(raised, grantIn(raised));
    expect(quota.metadata).toEqual(raised.metadata);
    expect(quota.status).toEqual(raised.status);
  });

  test('a quota whose spec.hard is gone gets nothing back', () => {
    const quota = aQuota(holding(aGrant()), (one) => ({ ...one, spec: { scopes: ['BestEffort'] } }));
    const back = restoredQuota(quota, aGrant());
    expect([back.changed, back.quota.spec]).toEqual([false, { scopes: ['BestEffort'], hard: {} }]);
  });

  /** As the API server keeps what it is sent. */
  const canonical = (list: ResourceList): ResourceList =>
    Object.fromEntries(Object.entries(list).map(([key, text]) => [key, formatQuantity(parseQuantity(text))]));

  test('raise and restore give spec.hard back byte for byte, for any quota and any VMMRQs', () => {
    fc.assert(
      fc.property(aHardList, aVmmrqList, fc.boolean(), (list, gives, isCanonical) => {
        const quota = aQuota(hard(list));
        const raised = raiseOrNone(quota, gives);
        if (raised === undefined) return;
        const stored = isCanonical ? specHard(canonical(raised.spec.hard ?? {}))(raised) : raised;
        const back = restoredQuota(stored, grantIn(raised));
        const granted = Object.keys(grantIn(raised).raised);
        // What was not raised is as the API server has it; what was raised is as it was read.
        for (const key of Object.keys(list)) {
          const want = granted.includes(key) ? list[key] : stored.spec.hard?.[key];
          expect(back.quota.spec.hard?.[key]).toBe(want);
        }
        if (!isCanonical) expect(JSON.stringify(back.quota.spec)).toBe(JSON.stringify(quota.spec));
        expect(back.foreignEdits).toEqual([]);
        expect(restoredQuota(back.quota, grantIn(raised)).changed).toBe(false);
      }),
    );
  });

  test('whatever somebody writes meanwhile survives the restore (I4)', () => {
    fc.assert(
      fc.property(aHardList, aVmmrqList, aHardList, (list, gives, theirs) => {
        const raised = raiseOrNone(aQuota(hard(list)), gives);
        if (raised === undefined) return;
        const edited = specHard({ ...raised.spec.hard, ...theirs })(raised);
        const { quota } = restoredQuota(edited, grantIn(raised));
        for (const [key, text] of Object.entries(theirs)) {
          const ours = grantIn(raised).raised[key];
          const isOurs = ours !== undefined && amountOf(ours) === amountOf(text);
          if (!isOurs) expect(quota.spec.hard?.[key]).toBe(text);
        }
      }),
    );
  });
});

function raiseOrNone(quota: ResourceQuota, gives: ResourceList): ResourceQuota | undefined {
  try {
    return raisedBy(aVmmrq(giving(gives)))(quota);
  } catch {
    return undefined;
  }
}

function grantIn(quota: ResourceQuota): Grant {
  const state = grantOf(quota);
  if (state.kind !== 'held') throw new Error('no grant');
  return state.grant;
}

describe('releasedQuota', () => {
  test('drops the record and its label, sets the fence, and leaves everything else', () => {
    const before = aQuota(annotated('team', 'blue'), labelled('env', 'test'));
    const released = releasedQuota(raisedBy(aVmmrq())(before), 'token-1');
    expect(released.metadata).toEqual({
      ...before.metadata,
      annotations: { team: 'blue', [ANNOTATION.lastRelease]: 'token-1' },
      labels: { env: 'test' },
    });
  });

  test('a quota that had no labels has none again', () => {
    expect(releasedQuota(raisedBy(aVmmrq())(aQuota()), 'token-1').metadata).not.toHaveProperty('labels');
  });

  test('the fence of an earlier lock is replaced', () => {
    const again = releasedQuota(releasedQuota(aQuota(), 'token-0'), 'token-1');
    expect(again.metadata.annotations).toEqual({ [ANNOTATION.lastRelease]: 'token-1' });
  });
});

describe('handedBack', () => {
  const flux = { manager: 'flux', operation: 'Apply', apiVersion: 'v1' } as const;
  const ours = { manager: FIELD_MANAGER, operation: 'Update', apiVersion: 'v1' };
  const grant = aGrant({
    original: { cpu: '1', memory: '1Gi', pods: '3' },
    raised: { cpu: '2', memory: '2Gi', pods: '4' },
    managers: { cpu: [flux], memory: [flux], pods: [flux] },
  });
  const owned =
    (...managedFields: ManagedFieldsEntry[]): Change<ResourceQuota> =>
    (quota) => ({
      ...quota,
      metadata: { ...quota.metadata, managedFields },
    });

  test.each<[string, { now: ResourceList; entries: ManagedFieldsEntry[]; want: ManagedFieldsEntry[] }]>([
    [
      'every key that says its original again',
      {
        now: { cpu: '1', memory: '1Gi', pods: '3' },
        entries: [ownerOf('cpu', 'memory', 'pods')(ours)],
        want: [ownerOf('cpu', 'memory', 'pods')(flux)],
      },
    ],
    [
      'not what somebody else has set: that is theirs',
      {
        now: { cpu: '7', memory: '1Gi', pods: '3' },
        entries: [ownerOf('memory', 'pods')(ours), ownerOf('cpu')({ ...flux, manager: 'admin' })],
        want: [ownerOf('cpu')({ ...flux, manager: 'admin' }), ownerOf('memory', 'pods')(flux)],
      },
    ],
    [
      'not a key that is gone',
      {
        now: { cpu: '1' },
        entries: [ownerOf('cpu')(ours)],
        want: [ownerOf('cpu')(flux)],
      },
    ],
    [
      'not a key that is still raised',
      {
        now: { cpu: '1', memory: '2Gi' },
        entries: [ownerOf('cpu', 'memory')(ours)],
        want: [ownerOf('memory')(ours), ownerOf('cpu')(flux)],
      },
    ],
  ])('%s', (_, { now, entries, want }) => {
    const quota = aQuota(hard(now), owned(...entries));
    expect(handedBack(quota, grant)).toEqual(owned(...want)(quota));
  });

  test('a quota that says nothing of managers stays as it is', () => {
    const quota = aQuota(hard({ cpu: '1' }));
    expect(handedBack(quota, grant)).toBe(quota);
  });
});

describe('isRaiseEnforced', () => {
  const raised = raisedBy(aVmmrq())(aQuota());
  test.each<[string, ResourceQuota, boolean]>([
    ['every raised key at its raised amount', settled()(raised), true],
    ['not yet', raised, false],
    ['one of two', enforced({ ...raised.status?.hard, 'requests.cpu': '2605m' })(raised), false],
    ['put back again', enforced(aQuota().spec.hard ?? {})(raised), false],
    ['a quota without a grant', aQuota(), false],
    ['a label without a grant', aQuota(labelled(LABEL.raised)), false],
  ])('%s', (_, quota, want) => {
    expect(isRaiseEnforced(quota)).toBe(want);
  });
});
