import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  ready,
  refusedAt,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import { metadata } from '../../test/support/builders/object.ts';
import { aFailure, exceeded, forbidden } from '../../test/support/builders/pod-rejection.ts';
import { aTenant, clusterFacts } from '../../test/support/builders/preflight.ts';
import { aQuota } from '../../test/support/builders/quota.ts';
import { aSnapshot, aVmmrq, RULES } from '../../test/support/builders/snapshot.ts';
import { rawText } from '../../test/support/raw-text.ts';
import { KUBEVIRT, REASON } from '../../functions/domain/names.ts';
import type {
  KubernetesEvent,
  LimitRange,
  LimitRangeItem,
  Migration,
} from '../../functions/domain/objects.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import type { NamespaceFacts } from './facts.ts';
import type { VmOutcome } from './outcome.ts';
import { preflight } from './preflight.ts';

/** vm0's outcome, which has a migration under way, and vm1's, which is like it and has none. */
const outcomes = (
  migration: Migration,
  events: readonly KubernetesEvent[],
  different: Partial<NamespaceFacts> = {},
): string[] =>
  preflight(
    { kind: 'node', nodes: ['node1'] },
    clusterFacts([aTenant({ migrations: [migration], events, ...different })]),
  ).vms.map(({ name, outcome, reason }: VmOutcome) => `${name} ${outcome} ${reason}`);

const PENDING = aMigration(withCondition());
const BY_WEBHOOK = 'admission webhook "a.example.com" denied the request: no';

describe('KubeVirt’s condition on a migration that is under way has its time', () => {
  const REFUSED = aMigration(refusedAt(-5));

  test('what refused the pod before is outdated, as in explain', () => {
    const events = [aFailure(BY_WEBHOOK, -200)];
    const full = { quotas: [aQuota()], vmmrqs: [aVmmrq()] };
    const { verdicts } = assess(aSnapshot({ migrations: [REFUSED], events, ...full }), RULES);
    expect(verdicts.map(({ reason }) => reason)).toEqual([REASON.fitsWithRaise]);
    expect(outcomes(REFUSED, events, full)[0]).toBe('vm0 Passes FitsWithRaise');
  });

  test('what refused it since counts', () => {
    expect(outcomes(REFUSED, [aFailure(BY_WEBHOOK, -1)])[0]).toBe('vm0 Stuck PodRefusedByPolicy');
  });

  test('a quota that is not of the namespace counts', () => {
    const events = [aFailure(exceeded('of-all', 'pods=1'), -5)];
    expect(outcomes(REFUSED, events)[0]).toBe('vm0 Stuck ClusterQuotaExceeded');
  });
});

describe('without that condition', () => {
  test.each<[string, Migration]>([
    ['there is none', PENDING],
    ['it is False', aMigration(withCondition({ type: KUBEVIRT.rejectedByQuota, status: 'False' }))],
  ])('an Event of a full quota is another writer’s: %s', (_, migration) => {
    const events = [aFailure(exceeded('nosuch', 'pods=1'), -5)];
    expect(outcomes(migration, events)).toEqual(['vm0 Passes Fits', 'vm1 Passes Fits']);
  });

  test('other refusals count, however old they are', () => {
    expect(outcomes(PENDING, [aFailure(BY_WEBHOOK, -200)])[0]).toBe('vm0 Stuck PodRefusedByPolicy');
  });
});

describe('a LimitRange that refused the pod, as the whole LimitRanges are now', () => {
  const range = (limits: LimitRangeItem): LimitRange => ({
    metadata: metadata('range'),
    spec: { limits: [limits] },
  });
  const min = (memory: string): LimitRange => range({ type: 'Container', min: { memory } });
  const refused = [
    aFailure(forbidden('minimum memory usage per Container is 5Gi, but request is 1412828864'), -60),
  ];

  test.each<[string, LimitRange[], string]>([
    ['it refuses the pod still', [min('5Gi')], 'Stuck LimitRangeRefuses'],
    ['it would let it pass', [min('1Mi')], 'Passes Fits'],
    ['it is gone', [], 'Passes Fits'],
  ])('%s', (_, limitRanges, want) => {
    expect(outcomes(PENDING, refused, { limitRanges })).toEqual([`vm0 ${want}`, `vm1 ${want}`]);
  });

  test('before it a webhook had refused the pod: that counts again', () => {
    const events = [aFailure(BY_WEBHOOK, -70), ...refused];
    expect(outcomes(PENDING, events, { limitRanges: [min('1Mi')] })[0]).toBe('vm0 Stuck PodRefusedByPolicy');
  });

  test('the same of an attachment pod', () => {
    const target = aTarget(PENDING, ready);
    const events = refused.map((event) => ({
      ...event,
      message: rawText(event.message).replace('creating pod', 'creating attachment pod'),
    }));
    const pods = [aLauncher(), anAttachment(aLauncher()), target];
    const outcome = (memory: string): string | undefined =>
      outcomes(PENDING, events, { pods, limitRanges: [min(memory)] })[0];
    expect([outcome('5Gi'), outcome('1Mi')]).toEqual(['vm0 Stuck LimitRangeRefuses', 'vm0 Passes Fits']);
  });
});
