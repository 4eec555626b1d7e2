import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { MUTATIONS, type Mutation } from './mutations.ts';

type Defect = Pick<Mutation, 'name' | 'edits'>;

const ROOT = new URL('../../../', import.meta.url);

/** The mutation of this name. Throws when there is none. */
export function mutationNamed(name: string): Mutation {
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (mutation !== undefined) return mutation;
  throw new Error(
    `no mutation is named '${name}'; there are: ${MUTATIONS.map((one) => one.name).join('; ')}`,
  );
}

/** Each file's mutated source text. Throws when the text to replace does not occur exactly once. */
export function mutated({ name, edits }: Defect): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const { file, find, replace } of edits) {
    const { href } = new URL(file, ROOT);
    const parts = (sources.get(href) ?? readFileSync(new URL(href), 'utf8')).split(find);
    if (parts.length !== 2) {
      throw new Error(
        `mutation '${name}': what it replaces is ${String(parts.length - 1)} times in ${file}, not once`,
      );
    }
    sources.set(href, parts.join(replace));
  }
  return sources;
}

/** From now on this thread imports the mutated source. */
export function mutate(mutation: Defect): void {
  const sources = mutated(mutation);
  registerHooks({
    load: (url, context, next) => {
      const source = sources.get(url);
      return source === undefined
        ? next(url, context)
        : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
