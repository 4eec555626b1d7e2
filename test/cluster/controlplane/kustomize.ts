import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { ensureBinaries } from './binaries/ensure.ts';

const run = promisify(execFile);
const MAX_BYTES = 64 * 1024 * 1024;

/** The output of kustomize for a folder. Rejects with kustomize's message for a missing or wrong kustomization. */
export async function renderText(folder: string): Promise<string> {
  const { kustomize } = await ensureBinaries(['kustomize']);
  return (await run(kustomize, ['build', folder], { maxBuffer: MAX_BYTES })).stdout;
}

/** The objects of a kustomization, in the order in which kustomize prints them (namespaces and CRDs first). */
export const render = async (folder: string): Promise<KubernetesObject[]> =>
  objectsOf(await renderText(folder));

/** The objects in the documents of a YAML text, in their order. Throws for invalid YAML. */
export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`this is no YAML: ${error.message}`);
    return document.contents === null ? [] : [document.toJS() as KubernetesObject];
  });
}
