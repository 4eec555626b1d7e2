import { CloudEvent } from 'cloudevents';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { aStep, newLines, NOTHING, onlyLog } from '../../test/support/environment/function-host.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { OurEvent } from '../domain/events.ts';
import type { PostedEvent } from '../eventing/posted-event.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { NotYet, type Outcome, type Step } from './step.ts';
import { systemClock } from '../runtime/clock.ts';
import { newFunction } from './function.ts';

const feasible = new CloudEvent<unknown>({
  id: 'id-1',
  type: EVENT.migrationFeasible,
  source: '/mtq/feasibility',
  data: { namespace: 'tenant', token: 'token-1' },
});

const about = (type: string, kind: string): CloudEvent<unknown> =>
  new CloudEvent<unknown>({ id: 'id-2', type, source: 'https://127.0.0.1', kind, namespace: 'tenant' });

describe('the step that an event runs', () => {
  const handled: string[] = [];
  const named = (name: Step['name'], triggers: Step['triggers']): Step =>
    aStep(
      () => {
        handled.push(name);
        return NOTHING;
      },
      { name, triggers },
    );
  const steps = [
    named('feasibility', [{ type: SOURCE_EVENT.update, kind: 'VirtualMachineInstanceMigration' }]),
    named('lock', [{ type: EVENT.migrationFeasible }]),
    named('lower', [{ type: SOURCE_EVENT.update, kind: 'ResourceQuota' }]),
  ];
  beforeEach(() => void handled.splice(0));

  test.each<[string, CloudEvent<unknown>, string[]]>([
    ['ours, by its type', feasible, ['lock']],
    ['the source’s, by its type and kind', about(SOURCE_EVENT.update, 'ResourceQuota'), ['lower']],
    ['a kind that triggers no step', about(SOURCE_EVENT.update, 'Pod'), []],
    ['a type of that kind that triggers no step', about(SOURCE_EVENT.add, 'ResourceQuota'), []],
  ])('%s', async (_, event, want) => {
    const answer = await newFunction(steps, onlyLog(newLines().log))({}, event);
    expect(handled).toEqual(want);
    expect(answer).toEqual(want.length > 0 ? undefined : { statusCode: 400, body: expect.any(String) });
  });
});

describe('one process for all steps: an event that runs two', () => {
  const migrationUpdate = [{ type: SOURCE_EVENT.update, kind: 'VirtualMachineInstanceMigration' }];
  const replying = (name: Step['name'], type: OurEvent['type']): Step =>
    aStep(() => ({ ...NOTHING, reply: { type, from: name, namespace: 'tenant' } }), {
      name,
      triggers: migrationUpdate,
    });

  test('runs both, and posts what each replies: an answer holds only one event', async () => {
    const posted: PostedEvent[] = [];
    const post = (event: PostedEvent): Promise<void> => {
      posted.push(event);
      return Promise.resolve();
    };
    const context = { ...onlyLog(newLines().log), post };
    const steps = [replying('feasibility', EVENT.migrationFeasible), replying('lower', EVENT.quotaLowered)];

    const answer = await newFunction(steps, context)(
      {},
      about(SOURCE_EVENT.update, 'VirtualMachineInstanceMigration'),
    );

    expect(answer).toBeUndefined();
    expect(posted.map(({ type }) => type)).toEqual([EVENT.migrationFeasible, EVENT.quotaLowered]);
  });
});

describe('serialized', () => {
  const reply: OurEvent = {
    type: EVENT.namespaceLocked,
    from: 'lock',
    namespace: 'tenant',
    token: 'token-1',
  };

  /** A serialized step whose runs end when the test resolves them. */
  const pendingStep = (
    different: Partial<Step> = {},
  ): { readonly step: Step; readonly runs: readonly PromiseWithResolvers<Outcome>[] } => {
    const runs: PromiseWithResolvers<Outcome>[] = [];
    const step = aStep(
      () => {
        const run = Promise.withResolvers<Outcome>();
        runs.push(run);
        return run.promise;
      },
      { isSerialized: true, ...different },
    );
    return { step, runs };
  };

  test('three equal requests: one runs, one waits, the third shares its run, and each replies', async () => {
    const { step, runs } = pendingStep();
    const handle = newFunction([step], onlyLog(newLines().log));
    const answers = [handle({}, feasible), handle({}, feasible), handle({}, feasible)];
    expect(runs).toHaveLength(1);
    runs[0]?.resolve({ ...NOTHING, reply });
    expect(await answers[0]).toMatchObject({ type: EVENT.namespaceLocked });
    expect(runs).toHaveLength(2);
    runs[1]?.resolve({ ...NOTHING, reply });
    // Its id is made of its cause, so that it is the same event.
    const same = { type: EVENT.namespaceLocked, id: 'lock/namespace.locked/tenant/token-1' };
    expect(await answers[1]).toMatchObject(same);
    expect(await answers[2]).toMatchObject(same);
    expect(runs).toHaveLength(2);
  });

  const ended = (uid: string, name = 'mig'): CloudEvent<unknown> => {
    const { kind } = KIND.migration;
    const data = { kind, metadata: { name, namespace: 'tenant', uid } };
    return about(SOURCE_EVENT.delete, kind).cloneWith({ data });
  };
  const naming = (names: object): CloudEvent<unknown> =>
    feasible.cloneWith({ data: { namespace: 'tenant', token: 'token-1', ...names } });

  test.each<[string, CloudEvent<unknown>, CloudEvent<unknown>]>([
    ['object', ended('uid-of-other'), ended('uid-of-the-lock')],
    ['name', ended('uid', 'other'), ended('uid', 'of-the-lock')],
    ['kind', about(SOURCE_EVENT.delete, KIND.quota.kind), about(SOURCE_EVENT.delete, KIND.migration.kind)],
    ['quota', naming({ quotas: ['a'] }), naming({ quotas: ['b'] })],
    ['VMMRQ', naming({ vmmrqs: ['a'] }), naming({ vmmrqs: ['b'] })],
    ['list', naming({ quotas: ['a'] }), naming({ vmmrqs: ['a'] })],
  ])('a request about another %s does not share a waiting run', async (_, one, other) => {
    const { step, runs } = pendingStep({ triggers: [one, other].map(({ type }) => ({ type })) });
    const handle = newFunction([step], onlyLog(newLines().log));
    const answers = [one, one, other, other].map((event) => handle({}, event));
    for (const index of [0, 1, 2]) {
      runs[index]?.resolve({ ...NOTHING, reply });
      expect(await answers[index]).toMatchObject({ type: EVENT.namespaceLocked });
    }
    expect(await answers[3]).toMatchObject({ type: EVENT.namespaceLocked });
    expect(runs).toHaveLength(3);
  });

  test('a request that shares a failing run is retried too', async () => {
    const failing = aStep(() => Promise.reject(new Error('not now')), { isSerialized: true });
    const handle = newFunction([failing], onlyLog(newLines().log));
    const answers = await Promise.all([1, 2, 3].map(() => handle({}, feasible)));
    expect(answers).toEqual([1, 2, 3].map(() => ({ statusCode: 503, body: '' })));
  });

  test('a skipped event waits for no run, and runs nothing', async () => {
    const step = aStep(() => new Promise<never>(() => undefined), {
      isSerialized: true,
      skipOutcome: ({ id }) => (id === 'idle' ? NOTHING : undefined),
    });
    const { log, lines } = newLines();
    const handle = newFunction([step], {
      ...onlyLog(log),
      clock: { ...systemClock, after: () => () => undefined },
    });
    void handle({}, feasible);
    expect(await handle({}, feasible.cloneWith({ id: 'idle' }))).toBeUndefined();
    expect(lines).toMatchObject([{ eventId: 'idle', message: NOTHING.message }]);
  });
});

describe('a request without an event', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['the body of a request that is none', { type: EVENT.migrationFeasible, data: { namespace: 'tenant' } }],
    ['bytes', Buffer.from('{}')],
    ['text', 'hello'],
  ])('%s: 400', async (_, event) => {
    const { lines, log } = newLines();
    const handle = newFunction([aStep(() => NOTHING)], onlyLog(log));
    expect(await handle({}, event as CloudEvent<unknown>)).toMatchObject({ statusCode: 400 });
    expect(lines).toMatchObject([{ level: 'warn' }]);
  });
});

describe('the deadline', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test.each<[Step['name'], number]>([
    ['lock', 5_000],
    ['feasibility', 12_000],
  ])('%s: 503 after %d ms, not before', async (name, ms) => {
    const never = aStep(() => new Promise(() => undefined), { name });
    const { lines, log } = newLines();
    let answer: unknown = 'none yet';
    void newFunction([never], onlyLog(log))({}, feasible).then((given) => (answer = given));
    await jest.advanceTimersByTimeAsync(ms - 1);
    expect(answer).toBe('none yet');
    await jest.advanceTimersByTimeAsync(1);
    expect(answer).toEqual({ statusCode: 503, body: '' });
    expect(lines).toMatchObject([
      { level: 'error', message: expect.stringContaining(`${name} took longer`) },
    ]);
  });

  test('leaves no timer behind', async () => {
    const { log } = newLines();
    await newFunction([aStep(() => NOTHING)], onlyLog(log))({}, feasible);
    await newFunction([aStep(() => Promise.reject(new Error('no')))], onlyLog(log))({}, feasible);
    expect(jest.getTimerCount()).toBe(0);
  });
});

test('a step that can do nothing yet says why, and gets its event again', async () => {
  const { lines, log } = newLines();
  const step = aStep(() => Promise.reject(new NotYet(REASON.functionsSilent, 'raise does not answer')));
  expect(await newFunction([step], onlyLog(log))({}, feasible)).toEqual({ statusCode: 503, body: '' });
  expect(lines).toMatchObject([
    { level: 'info', message: 'raise does not answer', reason: REASON.functionsSilent, eventId: 'id-1' },
  ]);
});

describe('the log', () => {
  test('has one line for each decision', async () => {
    const { lines, log } = newLines();
    const seen: StepRequest[] = [];
    const step = aStep((request) => {
      seen.push(request);
      return { reason: REASON.locked, message: 'locked for mig0', migrations: ['mig0'] };
    });
    await newFunction([step], onlyLog(log))({}, feasible);
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'locked for mig0',
        step: 'lock',
        event: EVENT.migrationFeasible,
        eventId: 'id-1',
        namespace: 'tenant',
        token: 'token-1',
        reason: REASON.locked,
        migrations: ['mig0'],
        reply: undefined,
      },
    ]);
    expect(seen).toEqual([
      {
        type: EVENT.migrationFeasible,
        id: 'id-1',
        source: '/mtq/feasibility',
        namespace: 'tenant',
        token: 'token-1',
      },
    ]);
  });

  test.each<[string, Outcome, string]>([
    ['nothing was there to do', { reason: REASON.nothingBlocked, message: '' }, 'debug'],
    ['the lock is another one’s', { reason: REASON.notOurLock, message: '' }, 'debug'],
    ['the pods are waited for', { reason: REASON.stillWaiting, message: '' }, 'debug'],
    ['something was done', { reason: REASON.unlocked, message: '' }, 'info'],
    [
      'nothing is blocked any more, and the next step is triggered',
      {
        reason: REASON.nothingBlocked,
        message: '',
        reply: { type: EVENT.migrationInfeasible, from: 'lock', namespace: 'tenant' },
      },
      'info',
    ],
  ])('%s: its level', async (_, outcome, want) => {
    const { lines, log } = newLines();
    await newFunction([aStep(() => outcome)], onlyLog(log))({}, feasible);
    expect(lines.map(({ level }) => level)).toEqual([want]);
  });

  test('never has an event’s data', async () => {
    const { lines, log } = newLines();
    const secret = feasible.cloneWith({ data: { namespace: 'no/namespace', message: 'hunter2' } });
    await newFunction([aStep(() => NOTHING)], onlyLog(log))({}, secret);
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });
});
