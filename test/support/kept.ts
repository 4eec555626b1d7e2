import { appendFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Namespace } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { quotaControllerReady } from '../cluster/controlplane/ready.ts';
import { startControlPlane, type ControlPlane, type User } from '../cluster/controlplane/start.ts';
import { readStable, restoreStored, type Stored } from '../cluster/controlplane/stored.ts';
import { policiesInForce } from '../cluster/policies-in-force.ts';

/*
 * Control planes that outlive a test file (docs/adr/0024). Loaded outside Jest's sandbox (outside.ts), so there is one of
 * this module for each worker.
 */

/** The users of all test files: a control plane knows its users from its start. */
const USERS: readonly User[] = [
  { name: 'editor', groups: ['editors'] },
  { name: 'repairer', groups: ['repairers'] },
  { name: 'tina', groups: ['viewers'] },
  { name: 'theo', groups: ['editors'] },
  { name: 'tess', groups: ['owners'] },
];

interface Kept {
  readonly controlPlane: ControlPlane;
  /** Ends the control plane. */
  readonly end: () => Promise<void>;
  /** The content of etcd just after its start. */
  readonly pristine: Stored;
  /** Resolves when it is reset and works; false: one of its processes is dead. undefined: a test file uses it. */
  isEmptied: Promise<boolean> | undefined;
}

const WITHIN_MS = 30_000;
/** A namespace that still waits for a finalizer after this time will wait for ever. */
const TERMINATING_MS = 3_000;
const LOOK_EVERY_MS = 50;

const free: Kept[] = [];
/** closing-lines.js counts one byte for each control plane. */
const STARTED = process.env['STARTED_CONTROL_PLANES'];

/** A control plane as from `startControlPlane`. Its `stop` returns it to the worker. */
export async function borrowControlPlane(): Promise<ControlPlane> {
  for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
    const isEmptied = await kept.isEmptied;
    kept.isEmptied = undefined;
    if (isEmptied === true) return kept.controlPlane;
    await kept.end();
  }
  return start();
}

async function start(): Promise<ControlPlane> {
  if (STARTED !== undefined) appendFileSync(STARTED, '.');
  const controlPlane = await startControlPlane({ users: USERS });
  controlPlane.unref();
  const kept: Kept = {
    controlPlane,
    end: controlPlane.stop.bind(controlPlane),
    pristine: await readStable(socketOf(controlPlane)),
    isEmptied: undefined,
  };
  controlPlane.stop = () => {
    // A kind of object that no probe asks for may still wait: a namespace got no ServiceAccount for 30 s.
    if (controlPlane.wasAway) return kept.end();
    if (kept.isEmptied !== undefined) return Promise.resolve();
    kept.isEmptied = isEmptied(kept);
    free.push(kept);
    return Promise.resolve();
  };
  return controlPlane;
}

async function isEmptied({ controlPlane, pristine }: Kept): Promise<boolean> {
  const { adminKubeconfig } = controlPlane;
  try {
    controlPlane.resumeControllerManager();
    await untilNoneTerminates(connect(adminKubeconfig));
    await restoreStored(socketOf(controlPlane), pristine);
    // The API server applies deleted policies for up to a second longer.
    const untilPoliciesAreGone = await policiesInForce(connect(adminKubeconfig));
    await untilPoliciesAreGone();
    await quotaControllerReady(adminKubeconfig, AbortSignal.timeout(WITHIN_MS));
    truncateSync(controlPlane.auditLog);
    return true;
  } catch (error) {
    process.stderr.write(`a control plane is not used again: ${describeError(error)}\n`);
    return false;
  }
}

/** The namespace controller deletes by name, and the next file may create a namespace of the same name. */
async function untilNoneTerminates(admin: Cluster): Promise<void> {
  const until = performance.now() + TERMINATING_MS;
  const isTerminating = ({ metadata }: Namespace): boolean => metadata.deletionTimestamp !== undefined;
  while ((await admin.list(NAMESPACES, {})).items.some(isTerminating) && performance.now() < until)
    await delay(LOOK_EVERY_MS);
}

const socketOf = ({ folder }: ControlPlane): string => join(folder, 'etcd.sock');
