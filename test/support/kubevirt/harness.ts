import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Address, Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  newVirtualMachineInstance,
  type MigrationOptions,
  type VmiOptions,
} from '../../cluster/kubevirt/objects/objects.ts';
import { startKubeVirt, type KubeVirtOptions } from '../../cluster/kubevirt/start.ts';
import type { LauncherPod, Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';

const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

/** Timeout of each wait; much longer than needed, so that a slow machine causes no failure. */
const WITHIN_MS = 30_000;

/** A control plane with the KubeVirt stand-in, and the actions of its users. */
export interface Harness {
  /** The tester: administrator, and every tenant. */
  readonly admin: Cluster;
  readonly controlPlane: ControlPlane;
  stop(): Promise<void>;
}

export async function startHarness(options: Partial<KubeVirtOptions> = {}): Promise<Harness> {
  const controlPlane = await freshControlPlane();
  const admin = connect(controlPlane.adminKubeconfig);
  try {
    await installKubeVirt(admin);
    const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
    const cluster = connect(await controlPlane.kubeconfigFor(account));
    const standIn = await startKubeVirt({ cluster, ...options });
    return {
      admin,
      controlPlane,
      async stop() {
        await standIn.stop();
        await controlPlane.stop();
      },
    };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** A namespace in which pods can be created. */
export async function createNamespace(admin: Cluster, name: string): Promise<Namespace> {
  const { object } = await admin.create(NAMESPACES, { metadata: { name } });
  await until(admin, { type: SERVICE_ACCOUNTS, namespace: name, name: 'default' }, isThere);
  return object;
}

/** Creates a quota and waits until it is enforced. */
export async function createQuota(
  admin: Cluster,
  namespace: string,
  hard: Record<string, string>,
): Promise<void> {
  await admin.create(RESOURCE_QUOTAS, { metadata: { namespace, name: 'quota' }, spec: { hard } });
  await until(
    admin,
    { type: RESOURCE_QUOTAS, namespace, name: 'quota' },
    (quota) => quota?.status?.used !== undefined,
  );
}

/** A VMI that runs. */
export async function runVmi(admin: Cluster, options: VmiOptions): Promise<Vmi> {
  await admin.create(FULL_VMIS, newVirtualMachineInstance(options));
  return until(
    admin,
    { type: FULL_VMIS, namespace: options.namespace, name: options.name },
    (vmi) => vmi?.status?.phase === 'Running',
  );
}

export async function migrate(admin: Cluster, options: MigrationOptions): Promise<Vmim> {
  return (await admin.create(FULL_MIGRATIONS, newMigration(options))).object;
}

export const untilMigration = (
  admin: Cluster,
  at: Required<Address>,
  holds: (migration: Vmim) => boolean,
): Promise<Vmim> =>
  until(admin, { type: FULL_MIGRATIONS, ...at }, (migration) => migration !== undefined && holds(migration));

export const untilMigrationIsGone = async (admin: Cluster, at: Required<Address>): Promise<void> => {
  await until(admin, { type: FULL_MIGRATIONS, ...at }, (migration) => migration === undefined);
};

export async function podsOf(admin: Cluster, namespace: string): Promise<LauncherPod[]> {
  return (await admin.list(LAUNCHER_PODS, { namespace })).items;
}

const isThere = (object: KubernetesObject | undefined): boolean => object !== undefined;

export interface Wanted<T extends KubernetesObject> extends Address {
  readonly type: ResourceType<T>;
}

/**
 * Resolves with an object as soon as a version of it meets the condition (undefined: it does not exist), by list and watch. Rejects
 * after the timeout, with the last version in the error.
 */
export async function until<T extends KubernetesObject>(
  cluster: Cluster,
  { type, namespace, name }: Wanted<T>,
  holds: (object: T | undefined) => boolean,
): Promise<T> {
  const where = { ...(namespace === undefined ? {} : { namespace }), fieldSelector: `metadata.name=${name}` };
  const { items, resourceVersion } = await cluster.list(type, where);
  let last = items[0];
  if (holds(last)) return last as T;
  const giveUp = AbortSignal.timeout(WITHIN_MS);
  try {
    for await (const { type: what, object } of cluster.watch(type, { ...where, resourceVersion }, giveUp)) {
      if (what === 'BOOKMARK') continue;
      last = what === 'DELETED' ? undefined : object;
      if (holds(last)) return last as T;
    }
  } catch (error) {
    if (!giveUp.aborted) throw error;
  }
  throw new Error(`${type.kind} ${name} did not become what was waited for: ${JSON.stringify(last)}`);
}
