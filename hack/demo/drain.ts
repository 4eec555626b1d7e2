import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ensureBinaries } from '../../test/cluster/controlplane/binaries/ensure.ts';
import type { DemoEnvironment } from './environment.ts';
import { now } from './watching.ts';

const ACTOR = 'kubectl drain';

/** Drains with the real client, whose output becomes lines of the timeline. Resolves to whether it drained the node. */
export async function drain(
  node: string,
  { cluster, notes }: Pick<DemoEnvironment, 'cluster' | 'notes'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  // Launchers keep the sockets of their guests in emptyDir volumes.
  const args = [
    'drain',
    node,
    '--delete-emptydir-data',
    `--kubeconfig=${cluster.controlPlane.adminKubeconfig}`,
  ];
  const child = spawn(kubectl, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (text) => {
      notes.push({
        at: now(),
        actor: ACTOR,
        text: shortened(text),
        isDetail: text.startsWith('evicting pod'),
      });
    });
  }
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.on('error', () => resolve(false));
  child.on('close', (code) => resolve(code === 0));
  return promise;
}

/** The line without the webhook's long name. */
const shortened = (line: string): string => line.replace(/admission webhook \S+ denied the request: /, '');
