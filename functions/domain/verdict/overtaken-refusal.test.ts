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
  exceeded,
  forbidden,
  keepingState,
} from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import { POLICY, REASON, WEBHOOK, type Reason } from '../names.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess } from './assessment.ts';

/** Refused by a quota five seconds ago, by KubeVirt's condition; client-go may drop the Event of that. */
const REFUSED = aMigration(refusedAt(-5));
const TOO_LARGE = forbidden('maximum memory usage per Container is 1Gi, but limit is 2Gi');
const BY_WEBHOOK = 'admission webhook "a.example.com" denied the request: no';
const mustSpecify = (quota: string): string =>
  forbidden(`failed quota: ${quota}: must specify requests.cpu for: compute`);

const byQuota = exceeded('quota', 'requests.cpu=1005m');

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

describe('our own refusal, which KubeVirt takes for a quota’s, comes before webhooks and quotas', () => {
  const WORDS =
    'CREATE of pods in namespace tenant must wait: it is locked for a live migration for a few seconds, at most a minute; ' +
    'until then this is forbidden: exceeded quota; try again then';
  const byPolicy = (name: string): string =>
    forbidden(`ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${WORDS}`);
  const byGuard = `admission webhook "${WEBHOOK.locked}" denied the request: ${WORDS}`;
  const OURS = [byPolicy(POLICY.locked), byPolicy(POLICY.raisedPods), byGuard];
  const look = (
    text: string,
    own: [string, number],
    different: Partial<NamespaceSnapshot> = {},
  ): [string, number] => {
    const events = [aFailure(text, -60), aFailure(...own)];
    const snapshot = aSnapshot({ migrations: [REFUSED], events, ...different });
    const { verdicts, migrations } = assess(snapshot, RULES);
    return [verdicts.map(({ reason }) => reason).join(), migrations.length];
  };
  const ROOM = { quotas: [aQuota(hard({ pods: '10', 'requests.cpu': '8', 'requests.memory': '16Gi' }))] };

  test.each(OURS)('%s', (own) => {
    for (const after of [-7, -5, -3]) expect(look(BY_WEBHOOK, [own, after])).toEqual([REASON.podRefused, 0]);
    expect(look(mustSpecify('quota'), [own, -5], ROOM)).toEqual([REASON.mustSpecify, 0]);
    expect(look('no pods on Saturdays', [own, -5])).toEqual([REASON.podRefused, 0]);
  });

  test.each([
    ['the condition is of another time', BY_WEBHOOK, byGuard, -8],
    ['the condition is of another time', BY_WEBHOOK, byGuard, -2],
    [
      'it was only that the guard did not answer: KubeVirt sets no condition',
      BY_WEBHOOK,
      `Internal error occurred: failed calling webhook "${WEBHOOK.locked}": EOF`,
      -5,
    ],
    ['LimitRanges come before policies', TOO_LARGE, byGuard, -5],
    ['so does Pod Security', forbidden('violates PodSecurity "restricted:latest": x'), byGuard, -5],
  ])('%s: the earlier refusal is outdated', (_, text, own, after) => {
    expect(look(text, [own, after], { limitRanges: [aLimitRange()] })).toEqual([REASON.fitsWithRaise, 1]);
  });

  test('a quota that refused it after us is the newest', () => {
    const events = [aFailure(BY_WEBHOOK, -60), aFailure(byGuard, -5), aFailure(byQuota, -1)];
    expect(assess(aSnapshot({ migrations: [REFUSED], events }), RULES).migrations).toHaveLength(1);
  });

  test('another VM’s shows nothing', () => {
    const { involvedObject, ...own } = aFailure(byGuard, -5);
    const ofVm1 = { ...own, involvedObject: { ...involvedObject, name: 'vm1', uid: 'uid-of-vm1' } };
    const events = [aFailure(BY_WEBHOOK, -60), ofVm1];
    expect(assess(aSnapshot({ migrations: [REFUSED], events }), RULES).migrations).toHaveLength(1);
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
