import { readdirSync, readFileSync } from 'node:fs';
import type { CloudEvent } from 'cloudevents';
import * as z from 'zod';
import { dnsSubdomain } from '../../functions/domain/dns-name.ts';
import { BadEvent } from '../serve.ts';

/** Schemas by event type, as in docs/events. */
export type Schemas = ReadonlyMap<string, z.ZodType>;

/** Files about drains and upgrades: the folder has other events too, and a document about all of them. */
const FOLLOWED = /^(io\.kubevirt\.mtq\.(?:drain|upgrade)\..+)\.json$/;

/** Reads the schemas of docs/events. */
export const schemasIn = (folder: URL): Schemas =>
  new Map(
    readdirSync(folder).flatMap((file) => {
      const type = FOLLOWED.exec(file)?.[1];
      if (type === undefined) return [];
      const schema = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as z.core.JSONSchema.JSONSchema;
      return [[type, z.fromJSONSchema(schema)] as const];
    }),
  );

/** What the text needs of the data. The name is part of a command that people copy. */
const summary = z.object({
  name: dnsSubdomain,
  kind: z.string(),
  subject: z.string(),
  message: z.string(),
  done: z.number(),
  total: z.number(),
});

/** Renders an event as one line for a chat. Throws BadEvent for data that is not as its schema says: any pod may post to the Broker. */
export function textOf({ type, data }: CloudEvent<unknown>, schemas: Schemas): string {
  const schema = schemas.get(type);
  if (schema === undefined) throw new BadEvent(`no schema for ${type}`);
  const valid = schema.pipe(summary).safeParse(data);
  if (!valid.success) throw new BadEvent(`data of ${type}: ${z.prettifyError(valid.error)}`);
  const { name, kind, subject, message, done, total } = valid.data;
  const what = type.split('.').at(-1) ?? '';
  return codeOf(
    `${kind} of ${subject} ${what}, ${String(done)}/${String(total)}: ${message} (kubectl get mprog ${name})`,
  );
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Makes code of a text, which Slack and Mattermost show as it is: no mention, no link, no formatting. White space and characters that do
 * not show become one space.
 */
const codeOf = (text: string): string => {
  const line = text
    .replaceAll(/[\s\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]+/gu, ' ')
    .replaceAll(/(\p{M}{4})\p{M}+/gu, '$1');
  return `\`${line.replaceAll('`', "'").replaceAll(/[&<>]/g, (one) => ENTITIES[one] ?? '')}\``;
};
