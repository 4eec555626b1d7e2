import { LIVE_EVENT } from '../../functions/domain/live/names.ts';
import { KIND, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { messageOf } from '../../functions/eventing/cloud-events.ts';
import { STEPS } from '../../functions/steps.ts';
import { BROKER, POSTED, schemaFile, type SentEvent } from './event-catalogue.ts';
import type { ExampleEvent } from './event-examples.ts';

const CHANNEL = { $ref: '#/channels/broker' };
const SUBSCRIBERS = { name: 'subscribers' };
const INTERNAL = { name: 'internal' };

/** CloudEvents' attributes that are the same for every type, or have no limits, in binary mode (CloudEvents HTTP binding). */
const ATTRIBUTES = {
  headers: {
    type: 'object',
    properties: {
      'ce-specversion': { type: 'string', const: '1.0' },
      'ce-id': { type: 'string', description: 'An event that is sent again has the same id.' },
      'ce-time': { type: 'string', format: 'date-time' },
      'ce-subject': { type: 'string' },
    },
    required: ['ce-specversion', 'ce-id', 'ce-type', 'ce-source', 'ce-subject'],
  },
};

/**
 * Returns the AsyncAPI 3.0 document of these events, beside their schemas in docs/events: the Broker is its channel, each type a message, and
 * what each process receives, replies and posts an operation. What Knative's sources send is not in it.
 */
export function asyncApi(events: readonly (SentEvent & { readonly example: ExampleEvent })[]): object {
  const types = events.map(({ type }) => type);
  return {
    asyncapi: '3.0.0',
    id: 'urn:io:kubevirt:mtq',
    info: {
      title: 'Managed Tenant Quota on Knative',
      // Of the events, as of our kinds: a release does not change it.
      version: KIND.progress.apiVersion.replace(/^.*\//, ''),
      description:
        'CloudEvents on the Broker: about drains, upgrades and moves for subscribers, and what the functions send each other.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      broker: {
        host: 'broker-ingress.knative-eventing.svc.cluster.local',
        protocol: 'http',
        description: 'The ingress of the in-memory Broker. A Trigger subscribes.',
        tags: [SUBSCRIBERS, INTERNAL],
      },
    },
    channels: {
      broker: {
        address: `/${SYSTEM_NAMESPACE}/${BROKER}`,
        messages: Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
      },
    },
    operations: { ...receiving(types), ...sending() },
    components: {
      messages: Object.fromEntries(events.map((event) => [event.type, describedMessage(event)])),
      messageTraits: { cloudEvent: ATTRIBUTES },
    },
  };
}

const messagesOf = (types: readonly string[]): object[] =>
  types.map((type) => ({ $ref: `${CHANNEL.$ref}/messages/${type}` }));

/** The functions, each with the reply that the Broker takes as a new event. */
function receiving(ours: readonly string[]): Record<string, object> {
  const steps = STEPS.map(({ name, triggers, replies }): [string, object] => {
    const types = [...new Set(triggers.map(({ type }) => type))].filter((type) => ours.includes(type));
    const reply = replies.length === 0 ? {} : { reply: { channel: CHANNEL, messages: messagesOf(replies) } };
    return [name, { action: 'receive', channel: CHANNEL, messages: messagesOf(types), ...reply }];
  });
  const live = { action: 'receive', channel: CHANNEL, messages: messagesOf(Object.values(LIVE_EVENT)) };
  return { ...Object.fromEntries(steps), live };
}

const sending = (): Record<string, object> =>
  Object.fromEntries(
    Object.entries(POSTED).map(([process, types]) => [
      `${process}-posts`,
      { action: 'send', channel: CHANNEL, messages: messagesOf(types) },
    ]),
  );

function describedMessage({
  type,
  description,
  isForSubscribers,
  sources,
  example,
}: SentEvent & { readonly example: ExampleEvent }): object {
  const headers = Object.fromEntries(
    Object.entries(messageOf(example).headers).filter(([name]) => name.startsWith('ce-')),
  );
  const extensions = Object.keys(headers).filter((name) => !(name in ATTRIBUTES.headers.properties));
  return {
    name: type,
    title: type,
    summary: description,
    tags: [isForSubscribers ? SUBSCRIBERS : INTERNAL],
    traits: [{ $ref: '#/components/messageTraits/cloudEvent' }],
    headers: {
      type: 'object',
      properties: {
        ...Object.fromEntries(extensions.map((name) => [name, { type: 'string' }])),
        'ce-type': { type: 'string', const: type },
        'ce-source': { type: 'string', enum: sources },
      },
    },
    payload: {
      schemaFormat: 'application/schema+json;version=draft-07',
      schema: { $ref: `./${schemaFile(type)}` },
    },
    examples: [{ headers, payload: example.data }],
  };
}
