/**
 * The parts of `wanted` that `found` lacks, each a path and a sentence; empty when it matches. Keys that `wanted` omits may have
 * any value. A null requires that the key is absent. Each element of a wanted list must match some element.
 */
export function differences(wanted: unknown, found: unknown, path = ''): string[] {
  if (wanted === null)
    return found === undefined || found === null ? [] : [`${path} is there: ${say(found)}`];
  if (Array.isArray(wanted))
    return wanted.flatMap((each, at) => missing(each, found, `${path}[${String(at)}]`));
  if (typeof wanted === 'object') return ofObject(wanted as Fields, found, path);
  return wanted === found ? [] : [`${path} is ${say(found)}, not ${say(wanted)}`];
}

type Fields = Readonly<Record<string, unknown>>;

const ofObject = (wanted: Fields, found: unknown, path: string): string[] =>
  Object.entries(wanted).flatMap(([key, value]) =>
    differences(value, isFields(found) ? found[key] : undefined, `${path}.${key}`),
  );

function missing(wanted: unknown, found: unknown, path: string): string[] {
  const elements: readonly unknown[] = Array.isArray(found) ? found : [];
  const isThere = elements.some((element) => differences(wanted, element).length === 0);
  return isThere ? [] : [`${path}: there is no ${say(wanted)} in ${say(found)}`];
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const say = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
