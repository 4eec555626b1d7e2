import { beforeAll, expect, test } from '@jest/globals';
import type { CycleStepName } from '../../../functions/runtime/settings.ts';
import { smallCase } from '../seeds/exhaustive.ts';
import { run } from '../world/run.ts';

/** Every request of one undisturbed cycle. It must not grow unnoticed (docs/scale.md). */

let trace: readonly string[];

/** A line of the trace: time, actor, and a request with its answer. */
const REQUEST = /^ *[\d.]+ {2}([a-z]+)-\d+ +((?:GET|LIST|POST|PUT|PATCH|DELETE) .*?) (?:ok|\d{3} \w+)$/;

/** The requests of a function, sorted; `until`: before this appears in the trace. */
function requestsOf(step: CycleStepName, until = ''): string[] {
  const end = trace.findIndex((line) => until !== '' && line.includes(until));
  return trace
    .slice(0, end === -1 ? trace.length : end)
    .flatMap((line) => {
      const [, by, what = ''] = REQUEST.exec(line) ?? [];
      return by === step ? [what.trim()] : [];
    })
    .toSorted();
}

beforeAll(async () => {
  const { violation, cycles, ...rest } = await run(
    { ...smallCase(1), isBlockedAtStart: false },
    { plan: [], trace: true },
  );
  expect({ violation, cycles }).toEqual({ violation: undefined, cycles: 1 });
  trace = rest.trace;
});

test.each<[CycleStepName, unknown[]]>([
  [
    'lock',
    [
      'GET Namespace tenant',
      'GET VirtualMachineInstance vm0',
      'LIST Event',
      'LIST Pod',
      'LIST ResourceQuota',
      'LIST VirtualMachineMigrationResourceQuota',
      'PUT Namespace tenant',
    ],
  ],
  [
    'raise',
    [
      'GET ResourceQuota quota',
      'GET VirtualMachineMigrationResourceQuota give0',
      'LIST EndpointSlice',
      'POST ResourceQuota mtq-proof (dry run)',
      'PUT ResourceQuota quota',
    ],
  ],
  [
    'lower',
    [
      'GET ResourceQuota quota',
      'LIST Pod',
      expect.stringMatching(/^POST Event give0/),
      expect.stringMatching(/^POST Event mig1/),
      'PUT ResourceQuota quota',
    ],
  ],
  ['unlock', ['GET Namespace tenant', 'GET ResourceQuota quota', 'PUT Namespace tenant']],
])('%s makes exactly these requests in a cycle', (step, want) => {
  expect(requestsOf(step)).toEqual(want);
});

test('feasibility makes none before the lock, and writes one status of the VMMRQ', () => {
  expect(requestsOf('feasibility', ' lock-')).toEqual([]);
  expect(requestsOf('feasibility').filter((what) => !/^(GET|LIST) /.test(what))).toEqual([
    'PUT VirtualMachineMigrationResourceQuota give0',
  ]);
});
