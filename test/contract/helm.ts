import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { ensureBinaries } from '../cluster/controlplane/binaries/ensure.ts';

const run = promisify(execFile);
const MAX_BYTES = 64 * 1024 * 1024;
/** Of the API server that Helm imagines, because it sees none here. */
const KUBERNETES = '1.30.0';

/** What Helm is given besides its command and the chart. */
interface Given {
  /** As in the user's own values.yaml. */
  readonly values?: object;
  readonly flags?: readonly string[];
}

/** The output of Helm. Rejects with its message. */
export async function helm(
  args: readonly string[],
  { values = {}, flags = [] }: Given = {},
): Promise<string> {
  const { helm: command } = await ensureBinaries(['helm']);
  const process_ = run(command, [...args, ...flags, '--values', '-'], {
    maxBuffer: MAX_BYTES,
    // Helm must find no cluster of the developer.
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  });
  process_.child.stdin?.end(JSON.stringify(values));
  return (await process_).stdout;
}

/** The objects of the chart in `folder` with these values, as `helm install` would send them to the API server. */
export async function helmObjects(folder: string, given: Given = {}): Promise<KubernetesObject[]> {
  const text = await helm(['template', 'mtq', folder, '--kube-version', KUBERNETES], given);
  // Helm reads what it has rendered as YAML 1.1.
  const documents = parseAllDocuments(text, { version: '1.1' });
  return documents.flatMap((document) => {
    expect(document.errors).toEqual([]);
    return document.contents === null ? [] : [document.toJS() as KubernetesObject];
  });
}
