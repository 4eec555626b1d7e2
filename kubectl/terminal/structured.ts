import { stringify } from 'yaml';

/** `-o json` and `-o yaml`, as kubectl writes them. */
export const structured = (format: 'json' | 'yaml', value: object): string =>
  format === 'json' ? JSON.stringify(value, undefined, 4) : stringify(value).trimEnd();
