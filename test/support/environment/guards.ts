import { fileURLToPath } from 'node:url';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { LOCK_VERSION, withLock } from '../../../functions/domain/lock.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { MIGRATIONS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { Child } from '../../cluster/controlplane/children.ts';
import { freePort } from '../../cluster/controlplane/ports.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { installedControlPlane } from './control-plane.ts';
import { startGuard, type GuardOptions } from '../../cluster/guard.ts';
import { pointWebhooksTo } from '../../cluster/install.ts';
import { writeByHand } from '../tenant/by-hand.ts';
import { startBalancer, type Balancer } from './balancer.ts';

/** The project's manifests on a real API server, and guard processes behind one Service; no eventing, functions or KubeVirt. */
export interface Guards {
  readonly controlPlane: ControlPlane;
  readonly admin: Cluster;
  readonly objects: readonly KubernetesObject[];
  readonly balancer: Balancer;
  /** A client as one of the project's service accounts. */
  as(account: keyof typeof SERVICE_ACCOUNT): Promise<Cluster>;
  /** Starts one more replica; resolves when it is ready, or only runs. */
  start(name: string, until?: GuardOptions['until']): Promise<Replica>;
  /** Locks a namespace of this name by `token` for 45 s from now, whether it was locked before or not. */
  lock(name: string, token: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Replica extends Child {
  /** Its readiness answer: '' when it is ready, else the reason. */
  problem(): Promise<string>;
  /** Its metrics as text. */
  metrics(): Promise<string>;
  readonly tlsPort: number;
  /** The port for health. */
  readonly healthPort: number;
}

const bundle = fileURLToPath(new URL('../../../dist/guard.mjs', import.meta.url));
/** After this time the watchdog ends the lock. */
const LOCK_MS = 45_000;
/** No Broker listens there, so the guard must do all work itself. */
const NO_BROKER = 'http://127.0.0.1:9/';

export async function startGuards(env: Readonly<Record<string, string>>): Promise<Guards> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const { controlPlane, installed: objects } = await installedControlPlane('both');
    ends.push(() => controlPlane.stop());
    const admin = connect(controlPlane.adminKubeconfig);
    const balancer = await startBalancer();
    ends.push(() => balancer.stop());
    await pointWebhooksTo(admin, objects, balancer.port);
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    if (deployment === undefined) throw new Error('the manifests have no Deployment');
    const kubeconfigOf = (name: string): Promise<string> =>
      controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });
    return {
      controlPlane,
      admin,
      objects,
      balancer,
      as: async (account) => connect(await kubeconfigOf(SERVICE_ACCOUNT[account])),
      start: async (name, until = 'readiness') => {
        const [port, tlsPort] = [await freePort(), await freePort()];
        balancer.add({ port: tlsPort, healthPort: port });
        const child = await startGuard({
          name,
          deployment,
          bundle,
          folder: controlPlane.folder,
          kubeconfig: await kubeconfigOf(SERVICE_ACCOUNT.guard),
          port,
          tlsPort,
          rewrite: (text) => text.replace(/^http:.*/, NO_BROKER),
          env,
          until,
        });
        ends.push(() => child.stop());
        return {
          ...child,
          tlsPort,
          healthPort: port,
          problem: () => problemOf(port),
          metrics: () => metricsOf(port),
        };
      },
      lock: (name, token) => lock(admin, name, token),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function metricsOf(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

async function problemOf(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/health/readiness`);
  return answer.ok ? '' : (await answer.text()).trimEnd();
}

async function lock(admin: Cluster, name: string, token: string): Promise<void> {
  const now = Date.now();
  const { object: namespace } = await madeOrThere(admin, NAMESPACES, { metadata: { name } });
  const { object: migration } = await madeOrThere(admin, MIGRATIONS, {
    metadata: { namespace: name, name: 'mig0' },
    spec: { vmiName: 'vm0' },
  });
  // An existing migration that is not final, so that the watchdog does not end the lock early.
  const { uid } = migration.metadata;
  const locked = withLock(namespace, {
    v: LOCK_VERSION,
    token,
    acquiredAt: new Date(now).toISOString(),
    expiresAt: new Date(now + LOCK_MS).toISOString(),
    migrations: [{ name: 'mig0', uid, vmi: 'uid-of-vmi' }],
    quotas: [],
    vmmrqs: [],
    of: '',
  });
  await writeByHand(admin, name, locked.metadata);
}

function madeOrThere<T extends KubernetesObject>(
  admin: Cluster,
  type: ResourceType<T>,
  object: New<T> & { metadata: { name: string; namespace?: string } },
): Promise<{ readonly object: T }> {
  return admin.create(type, object).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
    return admin.get(type, object.metadata);
  });
}
