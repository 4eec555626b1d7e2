import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { Child } from './controlplane/children.ts';
import { freePort } from './controlplane/ports.ts';
import { startControlPlane, type ControlPlane, type StartOptions } from './controlplane/start.ts';
import type { ActivatorTrace, LogLine } from './eventing/activator.ts';
import type { Hop } from './eventing/broker.ts';
import { startEventing, type Eventing } from './eventing/eventing.ts';
import { guardAccount, guardAddress, guardDeployment, startGuard } from './guard.ts';
import { install, pointWebhooksTo } from './install.ts';
import { installKubeVirt } from './kubevirt/install.ts';
import type { Release } from './kubevirt/objects/release.ts';
import {
  PLAYED_BY_OTHERS,
  playKubeVirt,
  type PlayedKubeVirt,
  type PlayedOptions,
} from './played-kubevirt.ts';
import type { Component } from './overlay.ts';
import { policiesInForce } from './policies-in-force.ts';
import { renderAdmissionMode, type AdmissionMode } from './admission-modes.ts';

export interface LocalClusterOptions {
  /** The folder of another checkout, whose manifests and `dist` are used; left out: this one's. */
  readonly tree?: string;
  /** The admission mode; default: webhooks and policies. */
  readonly admissionMode?: AdmissionMode;
  /** Folders of config/components; default none. */
  readonly components?: readonly Component[];
  /** Changes a copy of the manifests before the installation. */
  readonly change?: (objects: KubernetesObject[]) => void;
  /** How long a function without work keeps its process, milliseconds. */
  readonly idleMs?: number;
  /** Environment of functions and guard, in addition to the manifests. */
  readonly env?: Readonly<Record<string, string>>;
  /** Functions and guard find the API server as in a pod, not by KUBECONFIG. */
  readonly inPods?: boolean;
  /** Users and API servers; or an existing empty control plane, which is also stopped at the end. */
  readonly controlPlane?: StartOptions | ControlPlane;
  /** What that control plane has installed already, with the KubeVirt stand-in: the manifests of the other options. */
  readonly installed?: readonly KubernetesObject[];
  /** Replaces the kubeconfig of a function or the guard: from one path to another. */
  readonly reroute?: (account: string, kubeconfig: string, controlPlane: ControlPlane) => string;
  readonly timings?: PlayedOptions['timings'];
  /** More of the KubeVirt stand-in; or the control plane has one already. */
  readonly kubevirt?: Omit<PlayedOptions, 'timings'> | 'is there';
  /** Reports progress as text. */
  readonly onProgress?: (line: string) => void;
  readonly onHop?: (hop: Hop) => void;
  readonly onActivity?: (trace: ActivatorTrace) => void;
  readonly onLog?: (line: LogLine) => void;
}

/** Everything of one installation on this machine; only eventing and KubeVirt are stand-ins. */
export interface LocalCluster {
  readonly controlPlane: ControlPlane;
  readonly eventing: Eventing;
  /** A client for the set-up and for actions of users; no process of the project uses it. */
  readonly admin: Cluster;
  readonly objects: readonly KubernetesObject[];
  /** The guard process that was started last, in any state. */
  guard(): Child;
  /** Kills the guard's process (SIGKILL), like a crash. */
  killGuard(): Promise<void>;
  /** Starts the guard; resolves when it is ready, rejects when it ended before. */
  startGuard(): Promise<void>;
  /** Stops virt-controller and the nodes; their objects stay. */
  stopKubeVirt(): Promise<void>;
  /** After stopKubeVirt: starts them with the same options. Resolves when they have read all objects. */
  startKubeVirt(): Promise<void>;
  /** Where a KubeVirt CR exists: an upgrade or a rollback to this release. Resolves when the CR says that it is observed. */
  upgradeKubeVirt(release: Release): Promise<void>;
  /** Installs the manifests again after their removal. */
  installAgain(): Promise<void>;
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The rendered default overlay. */
export const renderDefault = (): Promise<KubernetesObject[]> => renderAdmissionMode('both');

/**
 * Starts everything: control plane, the rendered manifests, eventing and KubeVirt stand-ins, the guard. `dist` must have
 * been built. Rejects, leaving nothing behind.
 */
export async function startLocalCluster(options: LocalClusterOptions = {}): Promise<LocalCluster> {
  const report = options.onProgress ?? (() => undefined);
  const ending: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ending.splice(0).toReversed()) await end();
  };
  try {
    const objects = options.installed ?? (await rendered(options));
    report('starting etcd, kube-apiserver and kube-controller-manager');
    const controlPlane = isRunning(options.controlPlane)
      ? options.controlPlane
      : await startControlPlane(options.controlPlane);
    ending.push(() => controlPlane.stop());
    const admin = connect(controlPlane.adminKubeconfig, 'admin');
    const [port, tlsPort] = [await freePort(), await freePort()];
    report('installing the manifests and the KubeVirt stand-in');
    const untilPoliciesStand = await installOn(admin, { objects, tlsPort, options });

    const eventing = await newEventing({ objects, controlPlane, port, options });
    ending.push(() => eventing.stop());
    const guard = new Guard(async (onStart) =>
      startGuard({
        onStart,
        deployment: guardDeployment(objects),
        bundle: join(options.tree ?? root, 'dist/guard.mjs'),
        folder: controlPlane.folder,
        kubeconfig: await wayOf({ controlPlane, options }, guardAccount(guardDeployment(objects))),
        port,
        tlsPort,
        rewrite: eventing.rewrite,
        env: options.env ?? {},
        inPod: options.inPods ?? false,
      }),
    );
    await guard.start();
    ending.push(() => guard.stop());
    const kubevirt = await kubevirtOf(admin, controlPlane, options);
    ending.push(() => kubevirt.stop());
    await untilPoliciesStand();
    report('ready');
    return {
      controlPlane,
      eventing,
      admin,
      objects,
      guard: () => guard.child(),
      killGuard: () => guard.stop(0),
      startGuard: () => guard.start(),
      stopKubeVirt: () => kubevirt.stopController(),
      startKubeVirt: () => kubevirt.startController(),
      upgradeKubeVirt: (release) => kubevirt.upgrade(release),
      installAgain: () => install(admin, objects, tlsPort),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function rendered(options: LocalClusterOptions): Promise<KubernetesObject[]> {
  const objects = await renderAdmissionMode(options.admissionMode ?? 'both', options);
  options.change?.(objects);
  return objects;
}

interface Installing {
  readonly objects: readonly KubernetesObject[];
  readonly tlsPort: number;
  readonly options: LocalClusterOptions;
}

/** Resolves with the wait until its policies are in force. */
async function installOn(
  admin: Cluster,
  { objects, tlsPort, options: { installed, kubevirt } }: Installing,
): Promise<() => Promise<void>> {
  if (installed !== undefined) {
    await pointWebhooksTo(admin, objects, tlsPort);
    return () => Promise.resolve();
  }
  if (kubevirt !== 'is there') await installKubeVirt(admin, kubevirt?.release);
  await install(admin, objects, tlsPort);
  return policiesInForce(admin);
}

function kubevirtOf(
  admin: Cluster,
  controlPlane: ControlPlane,
  { timings = {}, kubevirt = {} }: LocalClusterOptions,
): Promise<PlayedKubeVirt> {
  return kubevirt === 'is there'
    ? Promise.resolve(PLAYED_BY_OTHERS)
    : playKubeVirt(admin, controlPlane, { timings, ...kubevirt });
}

const isRunning = (given: LocalClusterOptions['controlPlane']): given is ControlPlane =>
  given !== undefined && 'adminKubeconfig' in given;

const accountOf = (controlPlane: ControlPlane, name: string): Promise<string> =>
  controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });

/** A process of the project. */
async function wayOf(
  { controlPlane, options: { reroute } }: Pick<EventingParts, 'controlPlane' | 'options'>,
  account: string,
): Promise<string> {
  const kubeconfig = await accountOf(controlPlane, account);
  return reroute === undefined ? kubeconfig : reroute(account, kubeconfig, controlPlane);
}

interface EventingParts {
  readonly objects: readonly KubernetesObject[];
  readonly controlPlane: ControlPlane;
  readonly port: number;
  readonly options: LocalClusterOptions;
}

function newEventing({ objects, controlPlane, port, options }: EventingParts): Promise<Eventing> {
  const { idleMs, env, inPods = false, onHop, onActivity, onLog } = options;
  return startEventing({
    objects: objects,
    server: controlPlane.url,
    clusterFor: async (account) => connect(await accountOf(controlPlane, account)),
    kubeconfigFor: (account) => wayOf({ controlPlane, options }, account),
    bundle: join(options.tree ?? root, 'dist/functions.mjs'),
    inPods,
    addresses: guardAddress(port),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(env === undefined ? {} : { env }),
    ...(onHop === undefined ? {} : { onHop }),
    ...(onActivity === undefined ? {} : { onActivity }),
    ...(onLog === undefined ? {} : { onLog }),
  });
}

/** The guard's process, which tests kill and restart. */
class Guard {
  readonly #launch: (onStart: (child: Child) => void) => Promise<Child>;
  #child: Child | undefined;

  constructor(launch: (onStart: (child: Child) => void) => Promise<Child>) {
    this.#launch = launch;
  }

  async start(): Promise<void> {
    await this.#launch((child) => (this.#child = child));
  }

  child(): Child {
    if (this.#child === undefined) throw new Error('the guard was never started');
    return this.#child;
  }

  async stop(graceMs?: number): Promise<void> {
    await this.#child?.stop(graceMs);
  }
}
