import { constants, Script } from 'node:vm';

/**
 * Imports a module outside Jest's sandbox, where it lives as long as the worker does: every test file of this worker gets
 * the same instance. It has its own copies of all it imports, so compare nothing of it by identity (`instanceof`).
 */
export function importOutside<T>(module: URL): Promise<T> {
  const script = new Script(`import(${JSON.stringify(module.href)})`, {
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  return script.runInThisContext() as Promise<T>;
}
