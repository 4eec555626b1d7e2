import type { CloudEvent } from 'cloudevents';
import * as z from 'zod';
import { BadEvent } from '../serve.ts';

/** Schemas by event type, as in docs/events. */
export type Schemas = ReadonlyMap<string, z.ZodType>;

/** What the text needs of the data. */
const summary = z.object({
  name: z.string(),
  kind: z.string(),
  subject: z.string(),
  message: z.string(),
  done: z.number(),
  total: z.number(),
});

/** Renders an event as one line for a chat. Throws BadEvent for data that is not as its schema says: anyone may post to the Broker. */
export function textOf({ type, data }: CloudEvent<unknown>, schemas: Schemas): string {
  const schema = schemas.get(type);
  if (schema === undefined) throw new BadEvent(`no schema for ${type}`);
  const valid = schema.safeParse(data);
  if (!valid.success) throw new BadEvent(`data of ${type}: ${z.prettifyError(valid.error)}`);
  const { name, kind, subject, message, done, total } = summary.parse(valid.data);
  const what = type.split('.').at(-1) ?? '';
  return `${kind} of ${subject} ${what}, ${String(done)}/${String(total)}: ${message} (kubectl get mprog ${name})`;
}
