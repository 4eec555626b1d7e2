import { describe, expect, test } from '@jest/globals';
import { aLauncher, aMigration, aVmi, ofVm, refusedAt } from '../../test/support/builders/kubevirt.ts';
import {
  aLock,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { annotated, atVersion, labelled, named, seconds } from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  scoped,
} from '../../test/support/builders/quota.ts';
import { aSnapshot, aView, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { assess } from '../domain/verdict/assessment.ts';
import { fingerprint } from '../domain/fingerprint.ts';
import { lockOf } from '../domain/lock.ts';
import { ANNOTATION, LABEL, REASON } from '../domain/names.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { decide, type LockDecision, type AcquireDecision } from './decide.ts';

const EVENT_ID = 'event-1';
/** A lock that this event made. */
const OWN = { ...aLock(), by: fingerprint(EVENT_ID) };

const decided = (different: Partial<NamespaceSnapshot> = {}, lockSeconds = 30): LockDecision => {
  const snapshot = aSnapshot(different);
  return decide(snapshot, assess(snapshot, RULES), { lockSeconds, token: 'mine', id: EVENT_ID });
};

function acquired(different: Partial<NamespaceSnapshot> = {}, lockSeconds?: number): AcquireDecision {
  const decision = decided(different, lockSeconds);
  if (decision.kind !== 'acquire') throw new Error(decision.kind);
  return decision;
}

describe('no lock', () => {
  test.each<[string, Partial<NamespaceSnapshot>, string]>([
    ['nothing is blocked any more', { migrations: [] }, REASON.nothingBlocked],
    ['there is headroom by now', { quotas: [aQuota(hard({ 'requests.cpu': '9' }))] }, REASON.fits],
    ['the VMMRQ is gone', { vmmrqs: [] }, REASON.noVmmrq],
    ['the VMMRQ gives too little by now', { vmmrqs: [aVmmrq(giving({ pods: 1 }))] }, REASON.notEnough],
    ['the namespace is the cluster’s', { namespace: aNamespace(named('default')) }, REASON.reservedNamespace],
    ['the VM is gone', { vmis: new Map() }, REASON.vmiGone],
  ])('%s: left alone (F11)', (_, different, reason) => {
    expect(decided(different)).toEqual({ kind: 'leave', reason, message: expect.any(String) });
  });
});

describe('an existing lock', () => {
  test('live, and of this very event: it goes on, for the existing token (F14)', () => {
    expect(decided({ namespace: aNamespace(lockedBy(OWN)) })).toMatchObject({
      kind: 'goOn',
      lock: OWN,
      reason: REASON.alreadyLocked,
    });
  });

  test('live, of another event: it goes on without this one', () => {
    expect(decided({ namespace: aNamespace(lockedBy(aLock())) })).toEqual({
      kind: 'locked',
      reason: REASON.alreadyLocked,
      message: 'the namespace has a live lock already',
    });
  });

  test('live, without its label: it goes on too, and the raise checks it', () => {
    const namespace = aNamespace(annotated(ANNOTATION.lock, JSON.stringify(OWN)));
    expect(decided({ namespace })).toMatchObject({ kind: 'goOn', lock: OWN });
  });

  test('it goes on though nothing is blocked any more: the lock must end', () => {
    const namespace = aNamespace(lockedBy(OWN));
    expect(decided({ namespace, migrations: [] })).toMatchObject({ kind: 'goOn' });
  });

  test('past its time: repaired, never replaced', () => {
    expect(decided({ namespace: aNamespace(lockedBy(anExpiredLock())) })).toMatchObject({
      kind: 'repair',
      token: 'token-1',
      reason: REASON.lockExpired,
    });
  });

  test.each([
    ['cannot be read', lockedUnreadably()],
    ['is a label alone', labelled(LABEL.locked)],
  ])('%s: repaired, without a token', (_, change) => {
    const decision = decided({ namespace: aNamespace(change) });
    expect(decision).toMatchObject({ kind: 'repair', reason: REASON.lockExpired });
    expect(decision).not.toHaveProperty('token');
  });
});

test.each([
  ['a grant', aQuota(holding(aGrant()))],
  ['a grant that cannot be read', aQuota(holdingUnreadably())],
  ['a label alone', aQuota(labelled(LABEL.raised))],
])('%s is left over: repaired first', (_, quota) => {
  expect(decided({ quotas: [quota] })).toMatchObject({
    kind: 'repair',
    reason: REASON.grantWithoutLock,
    message: expect.stringContaining('quota'),
  });
});

describe('a new lock', () => {
  test('names its token, its migrations and quotas, and its end', () => {
    expect(acquired().lock).toEqual({
      v: 1,
      token: 'mine',
      acquiredAt: seconds(0),
      expiresAt: seconds(30),
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
      quotas: [
        {
          name: 'quota',
          uid: 'uid-of-quota',
          need: { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1412828864' },
        },
      ],
      vmmrqs: ['vmmrq'],
      of: expect.stringMatching(/^[0-9a-f]{16}$/),
      by: fingerprint(EVENT_ID),
    });
    expect(acquired({}, 5).lock.expiresAt).toBe(seconds(5));
  });

  test('records whether others wait for a slot', () => {
    expect(acquired({ view: aView({ others: true }) }).lock.others).toBe(true);
    expect(acquired({ view: undefined, migrations: [aMigration(refusedAt(0))] }).lock).not.toHaveProperty(
      'others',
    );
  });

  test('is one write: annotations and label, on the version that was read', () => {
    const { namespace, lock } = acquired({
      namespace: aNamespace(atVersion('42'), annotated('team', 'blue')),
    });
    expect(lockOf(namespace)).toEqual({ kind: 'held', lock, labelled: true });
    expect(namespace.metadata).toMatchObject({ resourceVersion: '42', annotations: { team: 'blue' } });
  });

  test('is for the quotas that block, and for no other', () => {
    const quotas = [
      aQuota(),
      aQuota(named('roomy'), hard({ 'requests.cpu': '99' })),
      aQuota(named('other'), scoped({ scopes: ['Terminating'] })),
    ];
    expect(acquired({ quotas }).lock.quotas.map(({ name }) => name)).toEqual(['quota']);
  });

  test('is for all migrations that get through together', () => {
    const { lock } = acquired({
      migrations: [aMigration(), aMigration(named('mig1'), ofVm('vm1'))],
      pods: [aLauncher(), aLauncher('vm1')],
      vmis: new Map([
        ['vm0', aVmi()],
        ['vm1', aVmi('vm1')],
      ]),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' }))],
    });
    expect(lock.migrations.map(({ name }) => name)).toEqual(['mig0', 'mig1']);
  });
});
