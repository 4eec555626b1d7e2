import { appendFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { renderAdmissionMode, type AdmissionMode } from '../../cluster/admission-modes.ts';
import { quotaControllerReady } from '../../cluster/controlplane/ready.ts';
import { startControlPlane, type ControlPlane, type User } from '../../cluster/controlplane/start.ts';
import { readStable, restoreStored, type Stored } from '../../cluster/controlplane/stored.ts';
import { install } from '../../cluster/install.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { policiesInForce } from '../../cluster/policies-in-force.ts';

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

/** What a control plane holds when a test file gets it: nothing, or the installation in this mode. */
export type Base = 'nothing' | AdmissionMode;

interface Kept {
  readonly controlPlane: ControlPlane;
  /** Ends the control plane. */
  readonly end: () => Promise<void>;
  /** The content of etcd for each base that was made. */
  readonly contents: Map<Base, Stored>;
  /** What it holds as soon as `isReset` resolves. */
  base: Base;
  /** Resolves when it is reset and works; false: one of its processes is dead. undefined: that has not begun. */
  isReset: Promise<boolean> | undefined;
}

const WITHIN_MS = 30_000;
/** A namespace that still waits for a finalizer after this time will wait for ever. */
const TERMINATING_MS = 3_000;
const LOOK_EVERY_MS = 50;
/** Of the webhooks until a guard starts. */
const UNSERVED_PORT = 1;

const free: Kept[] = [];
/** closing-lines.js counts one byte for each control plane. */
const STARTED = process.env['STARTED_CONTROL_PLANES'];

/** A control plane as from `startControlPlane`, with this base. Its `stop` returns it to the worker. */
export async function borrowControlPlane(base: Base): Promise<ControlPlane> {
  resetReturned();
  for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
    const isReset = (await kept.isReset) === true && (await works(kept, () => turnInto(kept, base)));
    kept.isReset = undefined;
    if (isReset) return kept.controlPlane;
    await kept.end();
  }
  const kept = await start();
  try {
    await turnInto(kept, base);
    return kept.controlPlane;
  } catch (error) {
    await kept.end();
    throw error;
  }
}

const renderings = new Map<AdmissionMode, Promise<string>>();

/** The manifests of a mode as JSON: an object of this realm is no Object in Jest's sandbox. Rendered once for each worker. */
export function renderingOf(mode: AdmissionMode): Promise<string> {
  const known = renderings.get(mode) ?? renderAdmissionMode(mode).then((objects) => JSON.stringify(objects));
  renderings.set(mode, known);
  return known;
}

/**
 * Resets what the last test file has returned, while the next one is loaded (reset-returned.ts). Not at the return itself: after the last
 * file nothing may keep the worker alive, or Jest kills it.
 */
export function resetReturned(): void {
  for (const kept of free) kept.isReset ??= works(kept, () => reset(kept));
}

async function start(): Promise<Kept> {
  if (STARTED !== undefined) appendFileSync(STARTED, '.');
  const controlPlane = await startControlPlane({ users: USERS });
  controlPlane.unref();
  const kept: Kept = {
    controlPlane,
    end: controlPlane.stop.bind(controlPlane),
    contents: new Map([['nothing', await readStable(socketOf(controlPlane))]]),
    base: 'nothing',
    isReset: undefined,
  };
  controlPlane.stop = () => {
    // A kind of object that no probe asks for may still wait: a namespace got no ServiceAccount for 30 s.
    if (controlPlane.wasAway) return kept.end();
    if (!free.includes(kept)) free.push(kept);
    return Promise.resolve();
  };
  return kept;
}

async function works({ controlPlane }: Kept, change: () => Promise<void>): Promise<boolean> {
  try {
    await change();
    truncateSync(controlPlane.auditLog);
    return true;
  } catch (error) {
    process.stderr.write(`a control plane is not used again: ${describeError(error)}\n`);
    return false;
  }
}

/** Back to its base, after a test file. */
async function reset({ controlPlane, contents, base }: Kept): Promise<void> {
  const { adminKubeconfig } = controlPlane;
  controlPlane.resumeControllerManager();
  await untilNoneTerminates(connect(adminKubeconfig));
  await restoreStored(socketOf(controlPlane), contents.get(base) ?? new Map());
  await policiesApply(controlPlane);
  await quotaControllerReady(adminKubeconfig, AbortSignal.timeout(WITHIN_MS));
}

/** The API server applies new and deleted policies up to a second later. */
async function policiesApply({ adminKubeconfig }: ControlPlane): Promise<void> {
  const untilTheyDo = await policiesInForce(connect(adminKubeconfig));
  await untilTheyDo();
}

async function turnInto(kept: Kept, base: Base): Promise<void> {
  if (kept.base === base) return;
  const { controlPlane, contents } = kept;
  const known = contents.get(base);
  await restoreStored(socketOf(controlPlane), known ?? contents.get('nothing') ?? new Map());
  if (known === undefined && base !== 'nothing') await installOn(controlPlane, base);
  await policiesApply(controlPlane);
  if (known === undefined) contents.set(base, await readStable(socketOf(controlPlane)));
  kept.base = base;
}

async function installOn({ adminKubeconfig }: ControlPlane, mode: AdmissionMode): Promise<void> {
  const admin = connect(adminKubeconfig, 'admin');
  await installKubeVirt(admin);
  await install(admin, JSON.parse(await renderingOf(mode)) as KubernetesObject[], UNSERVED_PORT);
}

/** The namespace controller deletes by name, and the next file may create a namespace of the same name. */
async function untilNoneTerminates(admin: Cluster): Promise<void> {
  const until = performance.now() + TERMINATING_MS;
  const isTerminating = ({ metadata }: Namespace): boolean => metadata.deletionTimestamp !== undefined;
  while ((await admin.list(NAMESPACES, {})).items.some(isTerminating) && performance.now() < until)
    await delay(LOOK_EVERY_MS);
}

const socketOf = ({ folder }: ControlPlane): string => join(folder, 'etcd.sock');
