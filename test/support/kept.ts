import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../functions/kubernetes/client.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { startControlPlane, type ControlPlane, type User } from '../cluster/controlplane/start.ts';
import { readStored, restoreStored, type Stored } from '../cluster/controlplane/stored.ts';

/*
 * Control planes that outlive a test file: starting one takes four seconds of two cores, emptying one a few milliseconds.
 * Loaded outside Jest's sandbox (outside.ts), so there is one of this module for each worker.
 */

/** Everyone whom some test file is; a control plane knows its users from its start. */
export const USERS: readonly User[] = [
  { name: 'editor', groups: ['editors'] },
  { name: 'repairer', groups: ['repairers'] },
  { name: 'tina', groups: ['viewers'] },
  { name: 'theo', groups: ['editors'] },
  { name: 'tess', groups: ['owners'] },
];

interface Kept {
  readonly controlPlane: ControlPlane;
  /** Ends it for good. */
  readonly end: () => Promise<void>;
  /** What etcd held when it had just started. */
  readonly pristine: Stored;
}

const free: Kept[] = [];

/** A control plane as `startControlPlane` starts it. Its `stop` gives it back. */
export async function borrowControlPlane(): Promise<ControlPlane> {
  for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
    if (await isRestored(kept)) return kept.controlPlane;
    await kept.end();
  }
  return start();
}

/** False: a test file that failed has left one of its processes dead. */
async function isRestored({ controlPlane, pristine }: Kept): Promise<boolean> {
  try {
    await restoreStored(socketOf(controlPlane), pristine);
    await connect(controlPlane.adminKubeconfig).list(NAMESPACES, {});
    truncateSync(controlPlane.auditLog);
    return true;
  } catch {
    return false;
  }
}

async function start(): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ users: USERS });
  controlPlane.unref();
  const kept = {
    controlPlane,
    end: controlPlane.stop.bind(controlPlane),
    pristine: await readStored(socketOf(controlPlane)),
  };
  controlPlane.stop = () => {
    controlPlane.resumeControllerManager();
    free.push(kept);
    return Promise.resolve();
  };
  return controlPlane;
}

const socketOf = ({ folder }: ControlPlane): string => join(folder, 'etcd.sock');
