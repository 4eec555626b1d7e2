import * as z from 'zod';
import { asyncApi } from './asyncapi.ts';
import { eventCatalogue, schemaFile, schemaId, type SentEvent } from './event-catalogue.ts';
import { eventExamples, type ExampleEvent } from './event-examples.ts';

/**
 * Returns the files of docs/events by name: the JSON Schema of each event's data, with an example, and the AsyncAPI document of all
 * events. `textOf`: the text of a file. A later version may add members.
 */
export function eventFiles(textOf: (file: string) => string): ReadonlyMap<string, string> {
  const examples = eventExamples();
  const events = eventCatalogue(textOf).map((event) => {
    const example = examples.get(event.type);
    if (example === undefined) throw new Error(`${event.type} has no example`);
    return { ...event, example };
  });
  return new Map([
    ...events.map((event): [string, string] => [schemaFile(event.type), jsonOf(schemaOf(event))]),
    ['asyncapi.json', jsonOf(asyncApi(events))],
  ]);
}

const jsonOf = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/**
 * The JSON Schema of the data, in draft 07, which AsyncAPI and most tools know. Of a list that is bounded before it is parsed (shortList),
 * only what comes out can be described. Objects stay open for the members of a later version.
 */
function schemaOf({
  type,
  description,
  data,
  example,
}: SentEvent & { readonly example: ExampleEvent }): object {
  const { $schema, ...schema } = z.toJSONSchema(data, {
    target: 'draft-07',
    io: 'output',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return { $schema, $id: schemaId(type), title: type, description, ...schema, examples: [example.data] };
}
