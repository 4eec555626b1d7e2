import { setTimeout as delay } from 'node:timers/promises';
import type { ResourceList } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import {
  startLocalCluster,
  type LocalCluster,
  type LocalClusterOptions,
} from '../../test/cluster/cluster.ts';
import { mapAtMost } from '../../kubectl/cluster/map-at-most.ts';
import type { Tenant } from '../demo/scenarios.ts';
import { setUpTenant } from '../demo/tenant.ts';
import { Traces } from '../demo/traces.ts';
import { Watching } from '../demo/watching.ts';
import type { MeasureOptions } from './figures.ts';
import { residentMiB } from './processes.ts';
import { RequestLog } from './requests.ts';

/** An installation and all its records. */
export interface Environment {
  readonly cluster: LocalCluster;
  readonly admin: Cluster;
  readonly watching: Watching;
  readonly traces: Traces;
  readonly requestLog: RequestLog;
  readonly stop: () => Promise<void>;
}

/** A function's process stays until `toZero` ends it. One API server needs no SETTLE_MS. */
const CONDITIONS = {
  inPods: true,
  idleMs: 24 * 60 * 60 * 1_000,
  timings: { migrationMs: 100 },
  env: { SETTLE_MS: '0' },
};

export async function startEnvironment(
  options: Pick<LocalClusterOptions, 'tree' | 'onProgress'>,
): Promise<Environment> {
  const traces = new Traces();
  const { onHop, onActivity, onLog } = traces;
  const cluster = await startLocalCluster({ ...CONDITIONS, ...options, onHop, onActivity, onLog });
  const watching = new Watching();
  await watching.start(cluster.admin);
  return {
    cluster,
    admin: cluster.admin,
    watching,
    traces,
    requestLog: new RequestLog(cluster.controlPlane.auditLog),
    stop: async () => {
      await watching.stop();
      await cluster.stop();
    },
  };
}

/** Timeout, far longer than any measurement takes. */
const TIMEOUT_MS = 600_000;

/** Rejects when `holds` stays false. */
export async function until({ watching }: Environment, what: string, holds: () => boolean): Promise<void> {
  const held = await watching.until(holds, AbortSignal.timeout(TIMEOUT_MS));
  if (!held) throw new Error(`not within ${TIMEOUT_MS / 1_000} s: ${what}`);
}

const QUIET_MS = 250;

/** Resolves when the Broker has no event to deliver and our processes have sent no request for a while. */
export async function untilQuiet({ cluster, requestLog }: Environment): Promise<void> {
  do {
    await cluster.eventing.broker.idle();
    requestLog.read();
    await delay(QUIET_MS);
  } while (requestLog.read() > 0);
}

/** The requests of a launcher for a VM with one core and 1Gi (test/cluster/kubevirt/objects/compute-resources.ts). */
const LAUNCHER = { milliCpu: 1_005, bytes: 1_412_828_864 };

/** A namespace whose quota is full, and whose VMMRQ has headroom for the migrations of all its VMs at once. */
export const blockedTenant = (namespace: string, vms = 1): Tenant => ({
  namespace,
  quotas: [{ name: 'compute', hard: { pods: String(2 * vms + 5), ...computeFor(vms, 400, 600) } }],
  vms: Array.from({ length: vms }, (_, index) => ({ name: `vm${index}` })),
  gives: computeFor(vms),
});

const computeFor = (launchers: number, moreMilliCpu = 0, moreMebibytes = 0): ResourceList => ({
  'requests.cpu': `${launchers * LAUNCHER.milliCpu + moreMilliCpu}m`,
  'requests.memory': String(launchers * LAUNCHER.bytes + moreMebibytes * 1_024 ** 2),
});

const TENANTS_AT_ONCE = 20;
const PROGRESS_EVERY = 50;

/** Creates the tenants, some at a time, and starts their VMs. */
export async function setUpTenants(
  { admin, watching }: Environment,
  tenants: readonly Tenant[],
  onProgress: MeasureOptions['onProgress'] = () => undefined,
): Promise<void> {
  let ready = 0;
  await mapAtMost(TENANTS_AT_ONCE, tenants, async (tenant) => {
    await setUpTenant(tenant, { admin, watching, signal: AbortSignal.timeout(TIMEOUT_MS) });
    ready += 1;
    if (ready % PROGRESS_EVERY === 0) onProgress(`${ready} of ${tenants.length} new namespaces`);
  });
}

/** Amounts in the API server's canonical form. */
const AMPLE = { 'requests.cpu': '999', 'requests.memory': '999Gi', pods: '999' };

/** Raises the quotas of these namespaces so that they refuse no migration. */
export async function addHeadroom(environment: Environment, namespaces: readonly string[]): Promise<void> {
  const { admin, watching } = environment;
  const quotas = namespaces.flatMap((namespace) => watching.all('ResourceQuota', namespace));
  for (const { metadata } of quotas) {
    const { name, namespace = '' } = metadata;
    await admin.patch(RESOURCE_QUOTAS, { name, namespace }, { merge: { spec: { hard: AMPLE } } });
  }
  await until(environment, 'the quotas have headroom', () =>
    quotas.every(({ metadata: { name, namespace } }) => {
      const hard = watching.find('ResourceQuota', name, namespace)?.status?.hard ?? {};
      return Object.entries(AMPLE).every(([key, amount]) => hard[key] === amount);
    }),
  );
}

/** Ends every function's process by SIGTERM, so that the next event starts it again. */
export async function toZero({ cluster: { eventing } }: Environment): Promise<void> {
  const { activator } = eventing;
  for (const { service } of activator.running()) activator.kill(service, 'SIGTERM');
  while (activator.running().length > 0) await delay(5);
}

const IDLE_MS = 3_000;

/** The guard's resident memory (VmRSS) after three idle seconds. */
export async function idleGuardMiB({ cluster }: Environment): Promise<number> {
  await delay(IDLE_MS);
  return residentMiB(cluster.guard().pid);
}
