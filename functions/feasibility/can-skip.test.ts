import { describe, expect, test } from '@jest/globals';
import { recordedRequest } from '../../test/cluster/eventing/recorded.ts';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { aQuota } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { CONDITION, EVENT, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { KubernetesObject, Vmmrq } from '../domain/objects.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import { canSkip } from './can-skip.ts';

const { add, update, delete: deleted } = SOURCE_EVENT;

/** A source event about this object. */
const canSkipWith = (type: string, object: KubernetesObject): boolean => {
  const [kind, namespace] = [object.kind ?? '', object.metadata.namespace ?? ''];
  const eventObject = parseEventObject(object, { kind, namespace });
  return canSkip({ type, id: '', namespace, kind, ...(eventObject === undefined ? {} : { eventObject }) });
};

describe('an event that feasibility skips', () => {
  test.each<[string, string, boolean]>([
    ['adapter-vmim-add', add, true],
    ['adapter-vmim-update-pending', update, true],
    ['adapter-vmim-update-blocked', update, false],
    // KubeVirt's condition is still there.
    ['adapter-vmim-update-scheduling', update, false],
    ['adapter-vmim-update-succeeded', update, false],
    ['adapter-vmim-delete', deleted, false],
  ])('as recorded, %s', (name, type, want) => {
    expect(canSkipWith(type, recordedRequest(name).body as KubernetesObject)).toBe(want);
  });

  const free = withCondition();
  const withoutPhase = { ...aMigration(), status: {} };
  test.each<[string, [type: string, object: KubernetesObject], boolean]>([
    ['a migration runs', [update, aMigration(free, inPhase('Running'))], true],
    ['a migration failed: its headroom returns', [update, aMigration(free, inPhase('Failed'))], false],
    ['a migration is refused', [update, aMigration()], false],
    ['a migration was refused and has just got its pod', [update, aMigration(inPhase('Scheduling'))], false],
    ['a migration was refused and runs', [update, aMigration(inPhase('Running'))], true],
    ['a migration waits for another cluster', [update, aMigration(free, inPhase('WaitingForSync'))], false],
    ['a migration changed, and the event shows nothing of it', [update, withoutPhase], false],
    ['a migration that runs is deleted', [deleted, aMigration(free, inPhase('Running'))], false],
    ['a quota, which never triggers it', [update, aQuota()], false],
  ])('%s', (_, [type, object], want) => {
    expect(canSkipWith(type, object)).toBe(want);
  });

  test('an event of our own is never skipped', () => {
    expect(canSkip({ type: EVENT.resyncRequested, id: '', namespace: 'tenant' })).toBe(false);
  });
});

describe('a VMMRQ', () => {
  const reported = (generation: number, observedGeneration?: number): Vmmrq => {
    const vmmrq = aVmmrq();
    const ready = { type: CONDITION.ready, status: 'True' as const };
    const conditions = [observedGeneration === undefined ? ready : { ...ready, observedGeneration }];
    return { ...vmmrq, metadata: { ...vmmrq.metadata, generation }, status: { conditions } };
  };

  test.each<[string, [type: string, vmmrq: Vmmrq], boolean]>([
    ['only our report changed', [update, reported(2, 2)], true],
    ['its spec changed since our report', [update, reported(3, 2)], false],
    ['nothing was ever reported', [update, aVmmrq()], false],
    ['a report without its generation', [update, reported(2)], false],
    ['it is new to the source', [add, reported(2, 2)], false],
  ])('%s', (_, [type, vmmrq], want) => {
    expect(canSkipWith(type, vmmrq)).toBe(want);
  });
});

describe('event object', () => {
  const about = { kind: KIND.migration.kind, namespace: 'tenant' };

  test('of an object in this namespace', () => {
    expect(parseEventObject(aMigration(), about)).toMatchObject({ kind: about.kind });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'Pending'],
    ['of an object of another kind', aQuota()],
    ['of one in another namespace', { ...aMigration(), metadata: { name: 'mig0', namespace: 'other' } }],
    ['by a reference', { kind: about.kind, name: 'mig0', namespace: 'tenant' }],
    ['what no API server writes', { ...aMigration(), status: { phase: 7 } }],
  ])('%s: is as good as nothing', (_, data) => {
    expect(parseEventObject(data, about)).toBeUndefined();
  });
});
