import { shown } from '../domain/foreign-text.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';
import {
  EVENT_DATA,
  maintenanceChangedData,
  MAX_TEXT,
  type MaintenanceChanged,
  type OurEvent,
} from '../domain/events.ts';
import { DNS_LABEL } from '../domain/dns-name.ts';
import type { OutboxEntry } from '../domain/progress/progress-object.ts';
import type { MoveEvent } from '../domain/live/move-events.ts';
import type { PostedEvent } from './posted-event.ts';
import type { StepRequest } from './step-request.ts';
import { describeError } from '../kubernetes/errors.ts';
import { SOURCE_EVENT, sourceOf, type EventType } from '../domain/names.ts';
import { MAINTENANCE_CHANGED } from '../domain/progress/names.ts';
import { parseEventObject } from './event-object.ts';
import * as z from '../runtime/zod.ts';

/** An event that no step can use. The sender must not retry it. */
export class BadEvent extends Error {
  override readonly name = 'BadEvent';

  constructor(message: string) {
    super(shown(message, MAX_PROBLEM));
  }
}

/** Characters. The text is logged and sent back, and a forged event may have thousands of problems. */
const MAX_PROBLEM = 500;

/** Makes a CloudEvent of any event that we post. */
export function cloudEventOf(event: PostedEvent): CloudEvent<Record<string, unknown>> {
  if ('sequence' in event) return ofOutbox(event);
  if ('subject' in event) return ofLive(event);
  return 'maintenance' in event ? ofMaintenance(event) : toCloudEvent(event);
}

/** Digits of the extension `sequence`, whose texts sort as its numbers do (CloudEvents, sequence extension). */
const SEQUENCE_DIGITS = 10;

const ofOutbox = ({ id, type, time, sequence, data }: OutboxEntry): CloudEvent<Record<string, unknown>> =>
  new CloudEvent({
    ...{ id, type, time, source: sourceOf('progress'), subject: data.name },
    datacontenttype: 'application/json',
    data: { ...data },
    sequence: String(sequence).padStart(SEQUENCE_DIGITS, '0'),
  });

const ofLive = ({ data, ...attributes }: MoveEvent): CloudEvent<Record<string, unknown>> =>
  new CloudEvent({
    ...{ ...attributes, source: sourceOf('live') },
    datacontenttype: 'application/json',
    data: { ...data },
  });

function ofMaintenance({
  type,
  from,
  maintenance,
  cause,
}: MaintenanceChanged): CloudEvent<Record<string, unknown>> {
  const subject = maintenance.kind === 'Drain' ? `/nodes/${maintenance.node}` : '/kubevirt';
  return new CloudEvent({
    ...{ type, source: sourceOf(from), subject },
    id: `${from}/maintenance.changed${subject}/${cause}`,
    datacontenttype: 'application/json',
    data: { ...maintenance },
  });
}

/**
 * Makes a CloudEvent of one of our events about a namespace: source `/mtq/<step>`, subject the namespace, extension mtqtoken. Its
 * id is made of its cause, so that a repeated reply is the same event.
 */
export function toCloudEvent(event: OurEvent): CloudEvent<Record<string, unknown>> {
  const { namespace, token, migrations, quotas, vmmrqs, vmis, reason, message, cause } = event;
  const id = [event.from, event.type.split('.').slice(-2).join('.'), namespace];
  const causes = [token, cause].filter((each) => each !== undefined);
  return new CloudEvent({
    type: event.type,
    source: sourceOf(event.from),
    subject: namespace,
    id: [...id, ...(causes.length === 0 ? [''] : causes)].join('/'),
    datacontenttype: 'application/json',
    data: {
      namespace,
      ...(token === undefined ? {} : { token }),
      ...(migrations === undefined ? {} : { migrations }),
      ...(quotas === undefined ? {} : { quotas }),
      ...(vmmrqs === undefined ? {} : { vmmrqs }),
      ...(vmis === undefined ? {} : { vmis }),
      ...(reason === undefined ? {} : { reason: shown(reason, MAX_TEXT.reason) }),
      ...(message === undefined ? {} : { message: shown(message, MAX_TEXT.message) }),
    },
    ...(token === undefined ? {} : { mtqtoken: token }),
  });
}

const sourceEvent = z.object({
  id: z.string(),
  type: z.enum(SOURCE_EVENT),
  namespace: z.string().check(z.minLength(1, 'is empty: the object has no namespace'), z.regex(DNS_LABEL)),
  kind: z.optional(z.string()),
});

const isOurs = (type: string): type is EventType => Object.hasOwn(EVENT_DATA, type);

/**
 * Reads a step request from an event. For a source event the namespace comes from its attributes; its data is only a hint.
 * Throws BadEvent.
 */
export function toStepRequest(event: CloudEvent<unknown>): StepRequest {
  if (isOurs(event.type)) return ownStepRequest(event, event.type);
  if (event.type === MAINTENANCE_CHANGED) return maintenanceRequest(event);
  const parsed = sourceEvent.safeParse(event);
  if (!parsed.success) throw new BadEvent(`event ${event.type}: ${z.prettifyError(parsed.error)}`);
  const { id, type, namespace, kind } = parsed.data;
  if (kind === undefined) return { type, id, namespace };
  const eventObject = parseEventObject(event.data, { kind, namespace });
  return { type, id, namespace, kind, ...(eventObject === undefined ? {} : { eventObject }) };
}

function maintenanceRequest({ id, type, source, data }: CloudEvent<unknown>): StepRequest {
  const parsed = maintenanceChangedData.safeParse(data);
  if (!parsed.success) throw new BadEvent(`data of ${type}: ${z.prettifyError(parsed.error)}`);
  return { type, id, source, namespace: '', maintenance: parsed.data };
}

function ownStepRequest(event: CloudEvent<unknown>, type: EventType): StepRequest {
  const parsed = EVENT_DATA[type].safeParse(event.data);
  if (!parsed.success) throw new BadEvent(`data of ${type}: ${z.prettifyError(parsed.error)}`);
  const { namespace, token, migrations, quotas, vmmrqs, vmis, reason } = parsed.data;
  return {
    type: type,
    id: event.id,
    source: event.source,
    namespace,
    ...(token === undefined ? {} : { token }),
    ...(migrations === undefined ? {} : { migrations }),
    ...(quotas === undefined ? {} : { quotas }),
    ...(vmmrqs === undefined ? {} : { vmmrqs }),
    ...(vmis === undefined ? {} : { vmis }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Returns the event of an HTTP request, binary or structured, or the reason why it carries none. */
export function eventIn(headers: IncomingHttpHeaders, body: string): CloudEvent<unknown> | string {
  try {
    const parsed = HTTP.toEvent({ headers, body });
    if (Array.isArray(parsed)) return 'a batch';
    // `toEvent` does not validate. `validate` throws for a missing attribute and returns false for another specversion.
    const event = new CloudEvent<unknown>(parsed, false);
    return event.validate() ? event : `specversion ${event.specversion}`;
  } catch (error) {
    return describeError(error);
  }
}

/** An event as an HTTP message in binary mode. */
export function messageOf(event: CloudEvent<unknown>): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const { headers, body } = HTTP.binary(event);
  return { headers: headers as Record<string, string>, body: body as string };
}
