import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, aMigration, inPhase, podSpec } from '../../test/support/builders/kubevirt.ts';
import {
  annotated,
  build,
  labelled,
  metadata,
  ownedBy,
  unlabelled,
  type MetaChange,
} from '../../test/support/builders/object.ts';
import { aGrant, aQuota, holding } from '../../test/support/builders/quota.ts';
import { aFailure } from '../../test/support/builders/pod-rejection.ts';
import { aVmmrq, giving } from '../../test/support/builders/snapshot.ts';
import { kept, LONG, oversized } from '../../test/support/builders/oversized.ts';
import { LIMIT_RANGER } from '../domain/sizing/limit-ranges.ts';
import { ANNOTATION, KUBEVIRT, LABEL } from '../domain/names.ts';
import type { Migration, Pod, Vmmrq } from '../domain/objects.ts';
import {
  LISTED_EVENTS,
  LISTED_MIGRATIONS,
  LISTED_HIDDEN_GRANTS,
  LISTED_MIGRATIONS_TO_COME,
  LISTED_PODS,
  LISTED_STATES_OF_PODS,
} from './listed.ts';
import { LISTED_STATES_OF_VMMRQS } from './listed-vmmrqs.ts';

const bytes = (value: unknown): number => JSON.stringify(value).length;

describe('whatever is stored', () => {
  const many = <T>(count: number, each: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => each(index));
  const owner = { apiVersion: 'v1', kind: LONG, name: LONG, uid: LONG, controller: true };
  const endless: Pod = oversized(
    aLauncher(
      'vm0',
      annotated(LIMIT_RANGER, LONG),
      podSpec({
        containers: many(10_000, (index) => ({ ...aContainer({ cpu: '1' }), name: `c${index}` })),
        overhead: Object.fromEntries(many(10_000, (index) => [`example.com/${index}`, '1'])),
      }),
      ownedBy(many(1_000, () => owner)),
      (pod) => ({ ...pod, status: { containerStatuses: many(10_000, () => ({ name: 'c', ready: true })) } }),
    ),
  );
  const migration: Migration = oversized({
    ...aMigration(),
    status: { conditions: many(10_000, () => ({ type: 'theirs', status: 'True' as const })) },
  });
  const event = { ...aFailure(LONG), involvedObject: { name: LONG } };

  test.each<[string, () => unknown, number]>([
    ['a pod', () => LISTED_PODS.trim(endless)?.object, 16],
    ['the state of a pod', () => LISTED_STATES_OF_PODS.trim(endless)?.object, 4],
    ['a migration', () => LISTED_MIGRATIONS.trim(migration)?.object, 16],
    ['an Event', () => LISTED_EVENTS.trim(event)?.object, 16],
  ])('%s is small, and keeps its identity', (_what, trim, kib) => {
    const object = trim();
    expect(bytes(object)).toBeLessThan(kib * 1024);
    expect(object).toMatchObject({ metadata: { name: expect.any(String), uid: expect.any(String) } });
  });

  test('its size is about right', () => {
    const usual = LISTED_PODS.trim(aLauncher());
    expect(usual?.size).toBeGreaterThan(bytes(usual?.object) / 2);
    expect(LISTED_PODS.trim(endless)?.size).toBeLessThanOrEqual(16 * 1024);
  });

  /** Annotations that just fit beside nothing else. */
  test.each([16_060, 16_200, 250 * 1024])(
    'an annotation of %d bytes, and many owners, hide nothing of what it is and does',
    (length) => {
      const theirs = 'x'.repeat(length);
      const owned = ownedBy(many(1_000, () => ({ ...owner, uid: 'u', name: 'n' })));
      const running = owned(aMigration(inPhase('Running'), annotated(ANNOTATION.nudged, theirs)));
      const same = { status: { phase: 'Running' }, spec: running.spec };
      expect(LISTED_MIGRATIONS.trim(running)?.object).toMatchObject(same);
      expect(LISTED_MIGRATIONS_TO_COME.trim(running)?.object).toMatchObject(same);
      const pod = owned(aLauncher('vm0', annotated(LIMIT_RANGER, theirs)));
      expect(LISTED_PODS.trim(pod)?.object.spec).toMatchObject({ containers: pod.spec.containers });
    },
  );

  test('lists of all migrations and VMMRQs keep only the fields that are read', () => {
    const theirs = 'x'.repeat(1_000);
    const keys = ['theirs', ANNOTATION.nudged];
    const changes: MetaChange[] = [
      ...keys.flatMap((key) => [annotated(key, theirs), labelled(key, theirs)]),
      ownedBy(many(100, () => owner)),
    ];
    const vmmrq = aVmmrq(giving({ [theirs]: '1' }));
    expect(LISTED_MIGRATIONS_TO_COME.trim(build<Migration>(aMigration(), changes))?.size).toBeLessThan(420);
    expect(LISTED_STATES_OF_VMMRQS.trim(build<Vmmrq>(vmmrq, changes))?.size).toBeLessThan(400);
  });

  test('the list of all quotas keeps those that hold a grant without its label', () => {
    const raised = aQuota(holding(aGrant()));
    const hidden = unlabelled(LABEL.raised)(raised);
    const unreadable = aQuota(annotated(ANNOTATION.grant, LONG));
    expect(kept(LISTED_HIDDEN_GRANTS, [aQuota(), raised, hidden, unreadable])).toHaveLength(2);
  });

  test('the list of migrations to come leaves out those that have ended', () => {
    const three = [aMigration(), aMigration(inPhase('Succeeded')), aMigration(inPhase('Failed'))];
    expect(kept(LISTED_MIGRATIONS_TO_COME, three)).toHaveLength(1);
  });

  test('the names that are kept of an object', () => {
    expect(LISTED_MIGRATIONS.trim(oversized(aMigration()))?.object).toEqual({
      metadata: { ...metadata('mig0'), annotations: {} },
      spec: { vmiName: 'vm0' },
      status: {
        phase: 'Pending',
        conditions: [{ type: KUBEVIRT.rejectedByQuota, status: 'True', lastProbeTime: null }],
      },
    });
  });
});
