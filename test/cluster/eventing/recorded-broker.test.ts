import { afterEach, describe, expect, test } from '@jest/globals';
import { resolveDestination } from './addresses.ts';
import { startBroker } from './broker.ts';
import { post } from './exchange.ts';
import { parseBroker, parseTrigger } from './manifests.ts';
import { normalised, pairs, recordedRequest, type Headers } from './recorded.ts';
import { recordingSink, type Recorded, type Reply } from './recordingsink.ts';

const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

const NAMESPACE = 'mtq-system';
/** What the Broker adds to an event on its way; the rest is what was sent to it. */
const ADDED =
  /^(Ce-Knativearrivaltime|Ce-Knativebrokerttl|Ce-Knativeerror.*|Prefer|Kn-Namespace|Host|User-Agent|Content-Length|Accept-Encoding)$/;

const sentHeaders = (seen: Headers): Headers => seen.filter(([name]) => !ADDED.test(name));

async function sink(answer: () => Reply): Promise<{ url: string; requests: readonly Recorded[] }> {
  const started = await recordingSink(answer);
  ending.push(() => started.close());
  return started;
}

interface Harness {
  readonly subscriber: string;
  readonly deadLetterSink: string;
}

async function startHarness({ subscriber, deadLetterSink }: Harness): Promise<string> {
  const started = await startBroker({
    broker: parseBroker({
      apiVersion: 'eventing.knative.dev/v1',
      kind: 'Broker',
      metadata: { name: 'rig', namespace: NAMESPACE },
    }),
    triggers: ['rig.x', 'rig.y', undefined].map((type) =>
      parseTrigger({
        apiVersion: 'eventing.knative.dev/v1',
        kind: 'Trigger',
        metadata: { name: `on-${type ?? 'adapter'}`, namespace: NAMESPACE },
        spec: {
          broker: 'rig',
          filters: [
            type === undefined ? { prefix: { type: 'dev.knative.apiserver.' } } : { exact: { type } },
          ],
          subscriber: { uri: subscriber },
          delivery: { retry: 1, deadLetterSink: { uri: deadLetterSink } },
        },
      }),
    ),
    resolve: resolveDestination,
    delay: () => Promise.resolve(),
  });
  ending.push(() => started.stop());
  return started.url;
}

const seen = ({ rawHeaders, body }: Recorded): unknown => ({ headers: normalised(pairs(rawHeaders)), body });

const wanted = (name: string): unknown => {
  const { headers, body } = recordedRequest(name);
  return { headers: normalised(headers), body };
};

async function publish(url: string, name: string): Promise<void> {
  const { headers, body } = recordedRequest(name);
  const { status } = await post({ url, headers: sentHeaders(headers), body: Buffer.from(String(body)) });
  expect(status).toBe(202);
}

describe('a subscriber sees what the real Broker shows it', () => {
  test.each([
    'broker-plain-event-first-hop',
    'broker-configmap-add',
    'broker-configmap-update',
    'broker-configmap-delete-because-label-removed',
    'broker-resourcequota-add',
    'broker-resourcequota-update-status',
    'broker-vmim-add',
    'broker-vmim-update-deletionTimestamp',
    'broker-vmim-delete-after-finalizer',
    'broker-namespace-update-cluster-scoped',
    'broker-pod-add-reference-mode',
  ])('%s', async (name) => {
    const subscriber = await sink(() => ({ status: 204 }));
    const url = await startHarness({ subscriber: `${subscriber.url}/`, deadLetterSink: subscriber.url });
    await publish(url, name);
    expect(subscriber.requests.map(seen)).toEqual([wanted(name)]);
  });

  test('broker-function-reply-as-next-event', async () => {
    const { headers, body } = recordedRequest('broker-function-reply-as-next-event');
    const reply = { status: 200, headers: Object.fromEntries(sentHeaders(headers)), body: String(body) };
    let number = 0;
    const subscriber = await sink(() => ((number += 1) === 1 ? reply : { status: 204 }));
    const url = await startHarness({ subscriber: subscriber.url, deadLetterSink: subscriber.url });
    await publish(url, 'broker-plain-event-first-hop');
    expect(subscriber.requests.slice(1).map(seen)).toEqual([wanted('broker-function-reply-as-next-event')]);
  });
});

describe('a dead letter sink gets what the real Broker sends it', () => {
  test.each<{ name: string; reply: Reply }>([
    { name: 'broker-dead-letter-503', reply: { status: 503, body: 'nope' } },
    { name: 'broker-dead-letter-400-json-body', reply: { status: 400, body: '{"error":"bad"}' } },
    { name: 'broker-dead-letter-non-ce-reply', reply: { status: 200, body: 'hello' } },
  ])('$name', async ({ name, reply }) => {
    const subscriber = await sink(() => reply);
    const letters = await sink(() => ({ status: 202 }));
    const url = await startHarness({ subscriber: `${subscriber.url}/`, deadLetterSink: letters.url });
    await publish(url, name);
    expect(letters.requests.map(seen)).toEqual([wanted(name)]);
  });

  test('broker-dead-letter-connection-refused', async () => {
    const letters = await sink(() => ({ status: 202 }));
    const url = await startHarness({ subscriber: 'http://127.0.0.1:9/', deadLetterSink: letters.url });
    await publish(url, 'broker-dead-letter-connection-refused');
    expect(letters.requests.map(seen)).toEqual([wanted('broker-dead-letter-connection-refused')]);
  });

  test('without error data when the subscriber was too slow', async () => {
    const never = Promise.withResolvers<undefined>();
    const started = await recordingSink(() => never.promise);
    ending.push(() => started.close());
    const letters = await sink(() => ({ status: 202 }));
    const trigger = parseTrigger({
      apiVersion: 'eventing.knative.dev/v1',
      kind: 'Trigger',
      metadata: { name: 'slow', namespace: NAMESPACE },
      spec: {
        broker: 'rig',
        subscriber: { uri: started.url },
        delivery: { timeout: 'PT1S', deadLetterSink: { uri: letters.url } },
      },
    });
    const broker = await startBroker({
      broker: parseBroker({
        apiVersion: 'eventing.knative.dev/v1',
        kind: 'Broker',
        metadata: { name: 'rig', namespace: NAMESPACE },
      }),
      triggers: [trigger],
      resolve: resolveDestination,
    });
    ending.push(() => broker.stop());
    await publish(broker.url, 'broker-plain-event-first-hop');
    const names = letters.requests.flatMap(({ headers }) => Object.keys(headers));
    expect(names.filter((name) => name.startsWith('ce-knativeerror'))).toEqual([]);
    never.resolve(undefined);
  });
});
