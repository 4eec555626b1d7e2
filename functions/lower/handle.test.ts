import { expect, test } from '@jest/globals';
import { aMigration, aTarget } from '../../test/support/builders/kubevirt.ts';
import { aSizedLock } from '../../test/support/builders/namespace.ts';
import { NOW } from '../../test/support/builders/object.ts';
import { aQuota, raisedFor, used } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { Pod, ResourceQuota } from '../domain/objects.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { StepContext } from '../host/step.ts';
import { lower } from './handle.ts';

const RAISED = raisedFor(aSizedLock(), aVmmrq())(aQuota());

/** The outcome of the event of this quota. The watch cache has no pod yet; `stored` are in etcd. */
async function outcomeOf(quota: ResourceQuota, stored: readonly Pod[]): Promise<string> {
  const date = new Date(NOW);
  const cluster = {
    get: () => Promise.resolve({ object: quota, date }),
    list: (_type: unknown, _where: unknown, options?: { readonly resourceVersion?: string }) =>
      Promise.resolve({ items: options?.resourceVersion === '0' ? [] : stored, date }),
    replace: () => Promise.resolve({ object: quota, date }),
  };
  const context = { cluster, inBackground: () => undefined, log: () => undefined } as unknown as StepContext;
  const { kind } = KIND.quota;
  const namespace = 'tenant';
  const eventObject = parseEventObject({ ...quota, kind }, { kind, namespace });
  const request: StepRequest = { type: SOURCE_EVENT.update, id: 'id', namespace, kind };
  const { reason } = await lower.handle(
    { ...request, ...(eventObject === undefined ? {} : { eventObject }) },
    context,
  );
  return reason;
}

/** The quota never counts all that it was raised for, so only the pods show that they are there. */
test.each<[name: string, quota: ResourceQuota, stored: readonly Pod[], want: string]>([
  [
    'is smaller than was estimated',
    used({ 'requests.cpu': '1800m' })(RAISED),
    [aTarget(aMigration())],
    REASON.admitted,
  ],
  ['is not stored yet', used({ 'requests.cpu': '1800m' })(RAISED), [], REASON.stillWaiting],
  ['is another one, without raised headroom', RAISED, [aTarget(aMigration())], REASON.stillWaiting],
])('a pod that %s', async (...[, quota, stored, want]) => {
  expect(await outcomeOf(quota, stored)).toBe(want);
});
