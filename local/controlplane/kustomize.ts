import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { ensureBinaries } from './binaries/ensure.ts';

const run = promisify(execFile);
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The objects of a kustomization, in the order in which kustomize prints them (namespaces and CRDs first).
 * Rejects with kustomize's own message when the folder is none or is wrong.
 */
export async function render(folder: string): Promise<KubernetesObject[]> {
  const { kustomize } = await ensureBinaries(['kustomize']);
  const { stdout } = await run(kustomize, ['build', folder], { maxBuffer: MAX_BYTES });
  return parseAllDocuments(stdout).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${folder}: kustomize printed no YAML: ${error.message}`);
    return document.contents === null ? [] : [document.toJS() as KubernetesObject];
  });
}
