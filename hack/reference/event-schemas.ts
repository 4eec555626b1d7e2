import * as z from 'zod';
import { MOVE_EVENT_DATA } from '../../functions/domain/live/move-events.ts';
import { MAINTENANCE_EVENT_DATA } from '../../functions/progress/event-data.ts';
import { entriesOf } from './render.ts';

/**
 * The JSON Schema of each event's data for subscribers, by file name in docs/events. `sourceOf`: the text of a
 * file, because the schemas have the sentences of the names. A later version may add members.
 */
export function eventSchemas(sourceOf: (file: string) => string): ReadonlyMap<string, string> {
  const sentences = new Map([
    ...entriesOf(sourceOf('functions/domain/progress/names.ts'), 'MAINTENANCE_EVENT'),
    ...entriesOf(sourceOf('functions/domain/live/names.ts'), 'MOVE_EVENT'),
  ]);
  return new Map(
    [...MAINTENANCE_EVENT_DATA, ...MOVE_EVENT_DATA].map(([type, data]) => {
      const { $schema, ...schema } = z.toJSONSchema(data, { io: 'input' });
      const about = { title: type, description: sentences.get(type) };
      return [`${type}.json`, `${JSON.stringify({ $schema, ...about, ...schema }, null, 2)}\n`];
    }),
  );
}
