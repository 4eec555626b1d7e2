import { stripTypeScriptTypes } from 'node:module';

/** Jest's transform: Node's own type stripping, which keeps every line and column where it was. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
};
