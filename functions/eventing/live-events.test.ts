import { CloudEvent } from 'cloudevents';
import { describe, expect, test } from '@jest/globals';
import { BadEvent } from './cloud-events.ts';
import { liveEvent, toLiveRequest } from './live-events.ts';

const event = (type: string, rest: Record<string, unknown>): CloudEvent<unknown> =>
  new CloudEvent<unknown>({ id: 'id', source: 'https://127.0.0.1', type, ...rest });

const MOVE = { namespace: 'plans', name: 'move-1', uid: 'run' };
const SEEN = { uid: 'uid', resourceVersion: '7' };
const ABOUT = { kind: 'Migration', namespace: 'plans', name: 'move-1' };

const answer = (cause: string): CloudEvent<unknown> =>
  liveEvent({ type: 'io.kubevirt.mtq.live.progressed', from: 'live', about: ABOUT, cause });

describe('toLiveRequest', () => {
  test('reads an ApiServerSource’s reference from its attributes', () => {
    const type = 'dev.knative.apiserver.ref.update';
    expect(toLiveRequest(event(type, ABOUT))).toEqual({
      ...{ type, id: 'id', ...ABOUT, isChange: true, runs: [] },
    });
  });

  test.each([
    ['Migration', false],
    ['Plan', true],
    ['Provider', true],
  ])('an add of a %s only says that it has changed: %s', (kind, isChange) => {
    const { isChange: said } = toLiveRequest(event('dev.knative.apiserver.ref.add', { ...ABOUT, kind }));
    expect(said).toBe(isChange);
  });

  test.each<[string, unknown, readonly object[]]>([
    ['those of the watcher', [MOVE], [MOVE]],
    ['none with a name that leads elsewhere', [{ ...MOVE, name: '../secrets' }], []],
    ['none of more than it takes', Array.from({ length: 101 }, () => MOVE), []],
    ['none where the data has none', undefined, []],
  ])('reads which Migrations go on by it: %s', (_which, runs, wanted) => {
    const request = toLiveRequest(
      event('dev.knative.apiserver.ref.update', { ...ABOUT, mtqcluster: 'there', data: { ...SEEN, runs } }),
    );
    expect(request.runs).toEqual(wanted);
    expect(request.seen).toEqual(wanted.length > 0 ? { cluster: 'there', ...SEEN } : undefined);
  });

  test('reads back its own answer', () => {
    expect(toLiveRequest(answer('cause'))).toMatchObject({ ...ABOUT, isChange: false });
  });

  test('the same cause gives the same event', () => {
    expect(answer('cause').id).toBe(answer('cause').id);
    expect(answer('other').id).not.toBe(answer('cause').id);
  });

  test.each<[string, CloudEvent<unknown>]>([
    ['another type', event('dev.knative.apiserver.resource.update', ABOUT)],
    ['no name', event('dev.knative.apiserver.ref.update', { ...ABOUT, name: '' })],
    ['a sweep of another kind', event('io.kubevirt.mtq.live.sweep', { data: { ...ABOUT, kind: 'Secret' } })],
    ['a name that leads elsewhere', event('dev.knative.apiserver.ref.update', { ...ABOUT, name: '..' })],
    [
      'a namespace that leads elsewhere',
      event('io.kubevirt.mtq.live.sweep', { data: { ...ABOUT, namespace: 'a/b' } }),
    ],
    ['a sweep of nothing', event('io.kubevirt.mtq.live.sweep', {})],
  ])('refuses %s', (_, bad) => {
    expect(() => toLiveRequest(bad)).toThrow(BadEvent);
  });
});
