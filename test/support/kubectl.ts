import { execFile } from 'node:child_process';
import { ensureBinaries } from '../cluster/controlplane/binaries/ensure.ts';

/** The result of kubectl; `code` 0: success. */
export interface KubectlOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Kubectl = (args: readonly string[], input?: object) => Promise<KubectlOutput>;

/** Runs the real kubectl as this user; `-f -` reads `input`. Rejects only when kubectl cannot start. */
export async function newKubectl(kubeconfig: string): Promise<Kubectl> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  return (args, input) =>
    new Promise((resolve) => {
      const child = execFile(kubectl, ['--kubeconfig', kubeconfig, ...args], (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
      child.stdin?.end(input === undefined ? '' : JSON.stringify(input));
    });
}
