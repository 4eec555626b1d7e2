import * as z from 'zod';
import { MAINTENANCE_EVENT_DATA } from '../../functions/domain/progress/event-data.ts';
import { entriesOf } from './render.ts';

/**
 * The JSON Schema of each event's data for subscribers, by file name in docs/events. `names`: the text of
 * functions/domain/progress/names.ts, whose sentences the schemas have. A later version may add members.
 */
export function eventSchemas(names: string): ReadonlyMap<string, string> {
  const sentences = new Map(entriesOf(names, 'MAINTENANCE_EVENT'));
  return new Map(
    [...MAINTENANCE_EVENT_DATA].map(([type, data]) => {
      const { $schema, ...schema } = z.toJSONSchema(data, { io: 'input' });
      const about = { title: type, description: sentences.get(type) };
      return [`${type}.json`, `${JSON.stringify({ $schema, ...about, ...schema }, null, 2)}\n`];
    }),
  );
}
