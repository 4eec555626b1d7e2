import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  ready,
  refusedAt,
} from '../../../test/support/builders/kubevirt.ts';
import {
  aFailure,
  aLimitRange,
  forbidden,
  keepingState,
} from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import { REASON, type Reason } from '../names.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess } from './assessment.ts';

/** Refused by a quota five seconds ago, by KubeVirt's condition; client-go may drop the Event of that. */
const REFUSED = aMigration(refusedAt(-5));
const TOO_LARGE = forbidden('maximum memory usage per Container is 1Gi, but limit is 2Gi');
const BY_WEBHOOK = 'admission webhook "a.example.com" denied the request: no';
const mustSpecify = (quota: string): string =>
  forbidden(`failed quota: ${quota}: must specify requests.cpu for: compute`);

const reasonOf = (text: string, after: number, different: Partial<NamespaceSnapshot> = {}): string => {
  const events = [aFailure(text, after)];
  const snapshot = aSnapshot({ migrations: [REFUSED], limitRanges: [aLimitRange()], events, ...different });
  return assess(snapshot, RULES)
    .verdicts.map(({ reason }) => reason)
    .join();
};

describe('quota admission is the last: once a quota refuses the pod, an earlier refusal is outdated', () => {
  test.each<[what: string, text: string, Reason]>([
    ['a webhook', BY_WEBHOOK, REASON.podRefused],
    ['a LimitRange', TOO_LARGE, REASON.limitRange],
    ['Pod Security', forbidden('violates PodSecurity "restricted:latest": x'), REASON.podSecurity],
    ['a scope', forbidden('insufficient quota to consume: requests.cpu'), REASON.noCoveringQuota],
    ['a value that a quota of the namespace requires', mustSpecify('quota'), REASON.mustSpecify],
    ['words of no known form', 'no pods on Saturdays', REASON.podRefused],
  ])('%s', (_, text, reason) => {
    expect(reasonOf(text, -200)).toBe(REASON.fitsWithRaise);
    expect(reasonOf(text, -8)).toBe(REASON.fitsWithRaise);
    // Within what clocks differ by, and later.
    expect(reasonOf(text, -7)).toBe(reason);
    expect(reasonOf(text, -1)).toBe(reason);
  });

  test('both times are virt-controller’s, even if its clock is ahead', () => {
    const migrations = [aMigration(refusedAt(60))];
    expect(reasonOf(BY_WEBHOOK, 58, { migrations })).toBe(REASON.podRefused);
    expect(reasonOf(BY_WEBHOOK, 57, { migrations })).toBe(REASON.fitsWithRaise);
  });
});

describe('an earlier refusal still counts', () => {
  const migrations = [REFUSED];
  const target = aTarget(REFUSED, ready);
  const attached = [aLauncher(), anAttachment(aLauncher()), target];

  test.each<[what: string, text: string, Partial<NamespaceSnapshot>, Reason]>([
    [
      'of a quota of another kind, which has its own plugin',
      mustSpecify('of-the-cluster'),
      {},
      REASON.mustSpecify,
    ],
    ['where the condition has no time', TOO_LARGE, { migrations: [aMigration()] }, REASON.limitRange],
    [
      'where the condition may be of a volume claim, which comes before the pod',
      TOO_LARGE,
      { vmis: new Map([['vm0', keepingState()]]) },
      REASON.limitRange,
    ],
  ])('%s', (_, text, different, reason) => {
    expect(reasonOf(text, -200, different)).toBe(reason);
  });

  test('of the attachment pod: the condition is of the launcher', () => {
    const failure = aFailure('', -200);
    const events = [{ ...failure, message: `Error creating attachment pod: ${TOO_LARGE}` }];
    expect(reasonOf('', 0, { migrations, pods: attached, events })).toBe(REASON.limitRange);
  });
});
