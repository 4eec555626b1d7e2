import { expect, test } from '@jest/globals';
import { metadata } from '../support/builders/object.ts';
import { knativeProblems, type Installation, type Reporting } from './knative-problems.ts';

const ready = (name: string): Reporting => ({
  metadata: metadata(name),
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
/** As its controller reports it: the reason is in Ready, and in the condition that causes it. */
const failed = (name: string, reason: string): Reporting => ({
  metadata: metadata(name),
  status: {
    conditions: ['Ready', 'Cause'].map((type) => ({
      type,
      status: 'False',
      reason,
      message: `because of ${reason}`,
    })),
  },
});
const triggerTo = (name: string, trigger: Reporting): Reporting => ({
  ...trigger,
  spec: { subscriber: { ref: { kind: 'Service', name } } },
});

const INSTALLED: Installation = {
  Broker: [ready('mtq')],
  Trigger: [triggerTo('mtq-lock', ready('mtq-lock')), triggerTo('mtq-raise', ready('mtq-raise'))],
  Service: [ready('mtq-lock'), ready('mtq-raise')],
  ApiServerSource: [ready('mtq')],
};
const TRIGGER_DOWN = { Trigger: [triggerTo('mtq-lock', failed('mtq-lock', 'EndpointSlicesUnavailable'))] };

test.each<[string, Partial<Installation>, readonly RegExp[]]>([
  ['everything is ready', {}, []],
  [
    'Serving’s webhook refused one Service',
    { Service: [ready('mtq-lock')] },
    [/^there is no Service mtq-raise: .*apply the manifests again$/],
  ],
  [
    'Serving’s webhook refused all Services',
    { Service: [] },
    [/^there is no Service in mtq-system: .*apply the manifests again$/],
  ],
  [
    'the Broker was made before Eventing’s webhook was up',
    { Broker: [failed('mtq', 'ChannelTemplateFailed')] },
    [
      /^Broker mtq is not ready: because of ChannelTemplateFailed\. .*kubectl delete broker mtq -n mtq-system, then apply/,
    ],
  ],
  [
    'Eventing was restarted, and a Trigger missed that it is back',
    TRIGGER_DOWN,
    [/^Trigger mtq-lock is not ready: .*kubectl annotate trigger --all -n mtq-system/],
  ],
  [
    'Eventing is still away',
    { ...TRIGGER_DOWN, Broker: [failed('mtq', 'EndpointSlicesUnavailable')] },
    [/^Broker mtq is not ready: because of \S+$/, /^Trigger mtq-lock is not ready: because of \S+$/],
  ],
  [
    'something else is not ready',
    { Service: [ready('mtq-lock'), failed('mtq-raise', 'RevisionFailed')] },
    [/^Service mtq-raise is not ready: because of RevisionFailed$/],
  ],
  [
    'a controller has not reported yet',
    { ApiServerSource: [{ metadata: metadata('mtq') }] },
    [/^ApiServerSource mtq is not ready: it does not say why$/],
  ],
])('%s', (_, different, want) => {
  expect(knativeProblems({ ...INSTALLED, ...different })).toEqual(
    want.map((each) => expect.stringMatching(each)),
  );
});
