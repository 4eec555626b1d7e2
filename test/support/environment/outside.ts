import { constants, Script } from 'node:vm';

/**
 * Imports a module outside Jest's sandbox, for the lifetime of the worker: every test file of this worker gets
 * the same instance. It has its own copies of all imports, so do not compare its values by identity (`instanceof`).
 */
export function importOutside<T>(module: URL): Promise<T> {
  const script = new Script(`import(${JSON.stringify(module.href)})`, {
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  return script.runInThisContext() as Promise<T>;
}
