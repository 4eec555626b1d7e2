import { describe, expect, test } from '@jest/globals';
import { afterAttempt, anAttempt, aNamespace } from '../../../test/support/builders/namespace.ts';
import {
  labelled,
  named,
  NOW,
  seconds,
  withUid,
  type Change,
} from '../../../test/support/builders/object.ts';
import { aQuota, fencedBy } from '../../../test/support/builders/quota.ts';
import { FIELD_MANAGER, LABEL, LOCK_OUTCOME, REASON } from '../names.ts';
import type { ManagedFieldsEntry, Namespace, ResourceQuota } from '../objects.ts';
import { afterFailure, afterSuccess, backoffOf, lastAttemptOf } from './attempt.ts';
import { raiseRefusals, triedRaises, withRefusals } from './raise-refusal.ts';

const MESSAGE = 'the API server refused the raise: status is immutable';
const other = aQuota(named('other'), withUid('uid-of-other'));

/** The namespace after the API server has refused the raise of this quota. */
const refusing = (quota: ResourceQuota, namespace: Namespace = aNamespace()): Namespace =>
  withRefusals(namespace, { tried: [quota], refused: [{ quota, message: MESSAGE }] }, NOW);

const allowing = (quota: ResourceQuota, namespace: Namespace): Namespace =>
  withRefusals(namespace, { tried: [quota], refused: [] }, NOW);

const refusalOf = (quota: ResourceQuota, namespace: Namespace): string | undefined =>
  raiseRefusals({ namespace, now: NOW })(quota);

describe('raiseRefusals', () => {
  test.each<[string, ResourceQuota, Namespace, string | undefined]>([
    ['the same quota', aQuota(), refusing(aQuota()), MESSAGE],
    ['another quota', other, refusing(aQuota()), undefined],
    ['another quota of that name', aQuota(withUid('uid-of-next')), refusing(aQuota()), undefined],
    ['a new label of the quota', aQuota(labelled('team')), refusing(aQuota()), undefined],
    ['a label less of the quota', aQuota(), refusing(aQuota(labelled('team'))), undefined],
    ['our own label', aQuota(labelled(LABEL.raised)), refusing(aQuota()), MESSAGE],
    ['a new label of the namespace', aQuota(), labelled('team')(refusing(aQuota())), undefined],
    ['no record', aQuota(), aNamespace(), undefined],
  ])('%s', (_, quota, namespace, want) => {
    expect(refusalOf(quota, namespace)).toBe(want);
  });
});

describe('triedRaises', () => {
  const entry = (manager: string, time: string, subresource?: string): ManagedFieldsEntry => ({
    ...{ manager, time, operation: 'Update' },
    ...(subresource === undefined ? {} : { subresource }),
  });
  const managed =
    (...managedFields: ManagedFieldsEntry[]): Change<ResourceQuota> =>
    (quota) => ({ ...quota, metadata: { ...quota.metadata, managedFields } });
  const OURS = entry(FIELD_MANAGER, seconds(-10), 'status');

  test.each<[string, ResourceQuota, Namespace, boolean]>([
    ['never raised', aQuota(), aNamespace(), false],
    ['raised', aQuota(fencedBy('t')), aNamespace(), true],
    ['raised, and its pod charged', aQuota(fencedBy('t', LOCK_OUTCOME.charged)), aNamespace(), true],
    [
      'fenced by a lock that raised nothing',
      aQuota(fencedBy('t', LOCK_OUTCOME.ourFault)),
      aNamespace(),
      false,
    ],
    ['refused since', aQuota(fencedBy('t')), refusing(aQuota()), false],
    [
      'labelled since',
      aQuota(fencedBy('t'), managed(OURS, entry('kubectl-label', seconds(-5)))),
      aNamespace(),
      false,
    ],
    [
      'labelled before',
      aQuota(fencedBy('t'), managed(OURS, entry('kubectl-label', seconds(-15)))),
      aNamespace(),
      true,
    ],
    [
      'counted since',
      aQuota(fencedBy('t'), managed(OURS, entry('kube-controller-manager', seconds(-5), 'status'))),
      aNamespace(),
      true,
    ],
    ['with unreadable times', aQuota(fencedBy('t'), managed(entry(FIELD_MANAGER, 'x'))), aNamespace(), true],
  ])('%s: %#', (_, quota, namespace, want) => {
    expect(triedRaises({ namespace, now: NOW })(quota)).toBe(want);
  });
});

describe('withRefusals', () => {
  test('the same refusal again changes nothing, so that it costs no write', () => {
    const namespace = refusing(aQuota());
    expect(refusing(aQuota(), namespace)).toBe(namespace);
    const without = aNamespace();
    expect(allowing(aQuota(), without)).toBe(without);
  });

  test('a refusal alone causes no back-off, and goes with its end', () => {
    const namespace = refusing(aQuota());
    const last = lastAttemptOf(namespace, NOW);
    const next = { now: NOW, lockSeconds: 15, fingerprint: '', sized: '' };
    expect(backoffOf(last, next)).toBeUndefined();
    expect(allowing(aQuota(), namespace)).toEqual(
      aNamespace((one) => ({ ...one, metadata: { ...one.metadata, annotations: {} } })),
    );
  });

  test('other quotas keep theirs', () => {
    const both = refusing(other, refusing(aQuota()));
    const left = allowing(aQuota(), both);
    expect([refusalOf(aQuota(), left), refusalOf(other, left)]).toEqual([undefined, MESSAGE]);
  });

  test('the back-off of a refused raise ends with its refusal; what it locked still counts', () => {
    const failed = anAttempt({ reason: REASON.refusedByPolicy, failures: 3 });
    const namespace = allowing(aQuota(), refusing(aQuota(), aNamespace(afterAttempt(failed))));
    expect(lastAttemptOf(namespace, NOW)).toEqual({ ...failed, failures: 0 });
  });

  test('another back-off goes on', () => {
    const namespace = allowing(aQuota(), refusing(aQuota(), aNamespace(afterAttempt(anAttempt()))));
    expect(lastAttemptOf(namespace, NOW)).toEqual(anAttempt());
  });

  test('the records of later attempts keep it', () => {
    const last = lastAttemptOf(refusing(aQuota(), aNamespace(afterAttempt(anAttempt()))), NOW);
    const result = { now: NOW, lockedMs: 1, reason: REASON.raisedButNotAdmitted, fingerprint: '' };
    expect(afterFailure(last, result).refused).toEqual(last?.refused);
    expect(afterSuccess(last, NOW)?.refused).toEqual(last?.refused);
  });

  test('an unreadable list counts as none, and the attempt stays', () => {
    const attempt = { ...anAttempt(), refused: 'x' } as never;
    expect(lastAttemptOf(aNamespace(afterAttempt(attempt)), NOW)).toMatchObject(anAttempt());
  });
});
