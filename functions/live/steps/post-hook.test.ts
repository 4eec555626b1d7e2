import { expect, test } from '@jest/globals';
import { firstAttempt, summary } from '../../../test/support/builders/live-run.ts';
import { aHook, RUN } from '../../../test/support/builders/live.ts';
import { hookName } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './post-hook.ts';

const NAME = hookName(RUN, 'PostHook');
const hooks = (step: 'PreHook' | 'PostHook'): RecordedRun =>
  firstAttempt({ hub: { hooks: [{ step, hook: aHook(), job: undefined }] } });

test('it runs after the attempt that moved the VM', () => {
  expect(summary(decide(hooks('PostHook')))).toBe(
    `create ConfigMap ${NAME} on hub, create Job ${NAME} on hub`,
  );
});

test('it waits where its Hook is not read', () => {
  const unread = 'User "mallory" cannot get hooks.';
  const view = { step: 'PostHook' as const, hook: undefined, job: undefined };
  expect(summary(decide(firstAttempt({ hub: { hooks: [{ ...view, unread }] } })))).toBe('wait Refused');
  expect(summary(decide(firstAttempt({ hub: { hooks: [view] } })))).toBe('fail HookFailed');
});

test('the PreHook is not its own', () => {
  expect(summary(decide(hooks('PreHook')))).toBe('done');
});
