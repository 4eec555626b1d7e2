import type { Comparable } from './cross-history.ts';

/** In words, one line each; empty: no difference but the allowed ones (cross-differences.ts). */
export function crossDifferences(want: Comparable, got: Comparable): string[] {
  return [
    ...between('', want.timelines, got.timelines),
    ...keysOf(want.left, got.left).flatMap((key) =>
      between(`at last: ${key} `, want.left[key], got.left[key]),
    ),
    ...missing('not deleted', want.deleted, got.deleted),
    ...missing('deleted', got.deleted, want.deleted),
    ...missing('not said', want.events, got.events),
    ...missing('said', got.events, want.events),
  ];
}

type ByKey = Readonly<Record<string, unknown>>;

const keysOf = (one: ByKey, other: ByKey): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();

function between(where: string, want: ByKey | undefined, got: ByKey | undefined): string[] {
  if (want === undefined || got === undefined)
    return want === got ? [] : [`${where}is ${got === undefined ? 'not there' : 'there'}`];
  return keysOf(want, got).flatMap((key) => {
    const [recorded, played] = [textOf(want[key]), textOf(got[key])];
    return recorded === played ? [] : [`${where}${key}: recorded ${recorded}, played ${played}`];
  });
}

const textOf = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

const missing = (what: string, list: readonly string[], from: readonly string[]): string[] =>
  list.filter((one) => !from.includes(one)).map((one) => `${what}: ${one}`);
