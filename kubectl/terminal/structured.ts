import { stringify } from 'yaml';

/** `-o json` and `-o yaml`, as kubectl writes them. kubectl reads YAML 1.1, where a plain `no` is false. */
export const structured = (format: 'json' | 'yaml', value: object): string =>
  format === 'json'
    ? JSON.stringify(value, undefined, 4)
    : stringify(value, { compat: 'yaml-1.1' }).trimEnd();
