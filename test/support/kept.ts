import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../functions/kubernetes/client.ts';
import { startControlPlane, type ControlPlane, type User } from '../cluster/controlplane/start.ts';
import { policiesInForce } from '../cluster/policies-in-force.ts';
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
  /** Resolves when it is as it was; false: a test file that failed has left one of its processes dead. */
  isEmptied: Promise<boolean>;
}

const free: Kept[] = [];

/** A control plane as `startControlPlane` starts it. Its `stop` gives it back. */
export async function borrowControlPlane(): Promise<ControlPlane> {
  for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
    if (await kept.isEmptied) return kept.controlPlane;
    await kept.end();
  }
  return start();
}

async function start(): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ users: USERS });
  controlPlane.unref();
  const kept: Kept = {
    controlPlane,
    end: controlPlane.stop.bind(controlPlane),
    pristine: await readStored(socketOf(controlPlane)),
    isEmptied: Promise.resolve(true),
  };
  controlPlane.stop = () => {
    kept.isEmptied = isEmptied(kept);
    free.push(kept);
    return Promise.resolve();
  };
  return controlPlane;
}

async function isEmptied({ controlPlane, pristine }: Kept): Promise<boolean> {
  try {
    controlPlane.resumeControllerManager();
    await restoreStored(socketOf(controlPlane), pristine);
    // Up to a second longer the API server goes by the policies that are gone.
    const untilPoliciesAreGone = await policiesInForce(connect(controlPlane.adminKubeconfig));
    await untilPoliciesAreGone();
    truncateSync(controlPlane.auditLog);
    return true;
  } catch {
    return false;
  }
}

const socketOf = ({ folder }: ControlPlane): string => join(folder, 'etcd.sock');
