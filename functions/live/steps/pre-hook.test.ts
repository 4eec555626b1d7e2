import { describe, expect, test } from '@jest/globals';
import { aRecordedRun, recorded, summary, writtenRecord } from '../../../test/support/builders/live-run.ts';
import { aHook, aRecord, RUN } from '../../../test/support/builders/live.ts';
import { metadata, seconds } from '../../../test/support/builders/object.ts';
import type { Hook } from '../../domain/live/forklift.ts';
import { hookObjects } from '../run/hook-job.ts';
import { hookName, runLabels } from '../run/names.ts';
import type { HookView, RecordedRun } from '../run/snapshot.ts';
import type { ConfigMap, Job } from '../../domain/live/kubevirt.ts';
import { decide } from './pre-hook.ts';

const NAME = hookName(RUN, 'PreHook');
const job = (status: Job['status'] = {}, created = 0, labels = runLabels(RUN)): Job => ({
  kind: 'Job',
  metadata: { ...metadata(NAME), labels, creationTimestamp: seconds(created) },
  status,
});
const suspended = (generation?: number): Job => {
  const { metadata: of, ...rest } = job();
  const counted = generation === undefined ? of : { ...of, generation };
  return { ...rest, metadata: counted, spec: { suspend: true } };
};
const withHook = (
  found: Job | undefined,
  hook: Hook | undefined = aHook(),
  record = aRecord(),
): RecordedRun =>
  aRecordedRun(record, { hub: { hooks: [{ step: 'PreHook', hook, job: found, files: itsFiles() }] } });

/** The ConfigMap as the run makes it of the VM as it is. */
function itsFiles(change: (files: ConfigMap) => Partial<ConfigMap> = () => ({})): ConfigMap {
  const { source, hub } = aRecordedRun();
  const [made] = hookObjects({
    run: RUN,
    step: 'PreHook',
    hook: aHook(),
    plan: hub.plan,
    vm: source.vm,
  });
  const files: ConfigMap = { ...made, metadata: { ...metadata(NAME), ...made.metadata } };
  return { ...files, ...change(files) };
}

const FAILED = { conditions: [{ type: 'Failed', status: 'True', message: 'BackoffLimitExceeded' }] };

test.each<[string, RecordedRun, string]>([
  ['no hook', aRecordedRun(), 'done'],
  [
    'a hook that was not started',
    withHook(undefined),
    `create ConfigMap ${NAME} on hub, create Job ${NAME} on hub`,
  ],
  [
    'a hook whose object is gone',
    {
      ...withHook(undefined),
      hub: { ...withHook(undefined).hub, hooks: [{ step: 'PreHook', hook: undefined, job: undefined }] },
    },
    'fail HookFailed',
  ],
  ['a Job as it was made is started', withHook(suspended(1)), `replace Job ${NAME} on hub`],
  ['a Job that was suspended after its start', withHook(suspended(3)), 'wait HookRuns'],
  [
    'a Job that was made again after its success is not',
    withHook(suspended(), aHook(), recorded({ hooks: ['PreHook'] })),
    'done',
  ],
  ['a Job that runs', withHook(job()), 'wait HookRuns'],
  ['a Job that runs beyond the hook’s deadline', withHook(job({}, -601)), 'fail HookFailed'],
  [
    'a Job without a deadline, for an hour',
    withHook(
      job({}, -3_599),
      aHook((hook) => ({ ...hook, spec: { image: 'i' } })),
    ),
    'wait HookRuns',
  ],
  [
    'and for longer',
    withHook(
      job({}, -3_601),
      aHook((hook) => ({ ...hook, spec: { image: 'i' } })),
    ),
    'fail HookFailed',
  ],
  ['a Job that has failed', withHook(job(FAILED)), 'fail HookFailed'],
  [
    'a Job that has succeeded is recorded',
    withHook(job({ succeeded: 1 })),
    'replace VirtualMachine web on source',
  ],
  [
    'a recorded success, whose Job is gone',
    withHook(undefined, aHook(), recorded({ hooks: ['PreHook'] })),
    'done',
  ],
  ['another hook is recorded', withHook(job(), aHook(), recorded({ hooks: ['PostHook'] })), 'wait HookRuns'],
  ['a Job of somebody else', withHook(job({ succeeded: 1 }, 0, {})), 'fail HookFailed'],
  ['an attempt has begun', withHook(undefined, aHook(), recorded({ attempt: 1 })), 'done'],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

describe('a Job whose ConfigMap', () => {
  const withFiles = (files: HookView['files'], hook?: Hook): RecordedRun =>
    aRecordedRun(aRecord(), { hub: { hooks: [{ step: 'PreHook', hook, job: suspended(1), files }] } });
  const START = `replace Job ${NAME} on hub`;
  const CREATE = `create ConfigMap ${NAME} on hub`;
  const AGAIN = `delete ConfigMap ${NAME} on hub, ${CREATE}`;
  const text = (content: unknown): ConfigMap['data'] & object => ({
    'workload.yml': JSON.stringify(content),
  });
  const before = { metadata: { resourceVersion: 'before' } };

  test.each<[string, ConfigMap | undefined, string]>([
    ['is as the run makes it is started', itsFiles(), START],
    [
      'has its playbook in one line, as the API server writes it, is started',
      itsFiles(() => ({ binaryData: { 'playbook.yml': 'LSBob3N0czogYWxsCg==' } })),
      START,
    ],
    ['was deleted gets it again', undefined, CREATE],
    [
      'has another playbook is not',
      itsFiles(() => ({ binaryData: { 'playbook.yml': 'LSBldmlsCg==' } })),
      'fail HookFailed',
    ],
    [
      'has one file more is not',
      itsFiles(({ data = {} }) => ({ data: { ...data, 'x.yml': '' } })),
      'fail HookFailed',
    ],
    ['can be changed is not', itsFiles(() => ({ immutable: false })), 'fail HookFailed'],
    [
      'is not of this run is not',
      itsFiles(({ metadata: of }) => ({ metadata: { ...of, labels: {} } })),
      'fail HookFailed',
    ],
    ['is of the VM as it was gets another one', itsFiles(() => ({ data: text(before) })), AGAIN],
    ['has no VM gets another one', itsFiles(() => ({ data: text(null) })), AGAIN],
    ['has nothing gets another one', itsFiles(({ metadata: of }) => ({ metadata: of, data: {} })), AGAIN],
  ])('%s', (_what, files, wanted) => {
    const hook = aHook((one) => ({ ...one, spec: { ...one.spec, playbook: 'LSBob3N0\nczogYWxsCg==\n' } }));
    expect(summary(decide(withFiles(files, hook)))).toBe(wanted);
  });

  test('is foreign says which', () => {
    const files = itsFiles(({ metadata: of }) => ({ metadata: { ...of, labels: {} } }));
    expect(decide(withFiles(files, aHook()))).toMatchObject({
      message: `the ConfigMap tenant/${NAME} of the PreHook is not as this run makes it: delete it, and run the plan again`,
    });
  });

  test('cannot be known, because the Hook is gone, is not started', () => {
    expect(summary(decide(withFiles(itsFiles())))).toBe('fail HookFailed');
  });
});

test('a Job is started by the version that was read', () => {
  expect(decide(withHook(suspended(1)))).toMatchObject({
    writes: [
      { object: { metadata: { resourceVersion: job().metadata.resourceVersion }, spec: { suspend: false } } },
    ],
  });
});

test('a failure says which Job, and why', () => {
  expect(decide(withHook(job(FAILED)))).toMatchObject({
    message: `the Job tenant/${NAME} of the PreHook failed: BackoffLimitExceeded`,
  });
});

test('the record has the hook that has succeeded', () => {
  expect(writtenRecord(decide(withHook(job({ succeeded: 1 }))))).toEqual(recorded({ hooks: ['PreHook'] }));
});
