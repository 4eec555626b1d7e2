import { stripTypeScriptTypes } from 'node:module';

/** Source texts by path, of a mutation (test/contract/check-mutations.long.test.ts). */
const mutated = JSON.parse(process.env.MUTATED_SOURCES ?? '{}');

/** Jest's transform: Node's own type stripping, which keeps every line and column where it was. */
export default {
  process: (source, path) => ({ code: stripTypeScriptTypes(mutated[path] ?? source, { mode: 'strip' }) }),
};
