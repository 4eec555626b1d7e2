import type { ResourceList } from '../../functions/domain/objects.ts';
import type { Tenant } from '../demo/scenarios.ts';
import { settle } from '../demo/tenant.ts';
import { PATIENCE_MS, type Scene } from './scene.ts';

/** What the API server is asked for a launcher of a VM with one core and 1Gi (local/kubevirt/compute-resources.ts). */
const LAUNCHER = { milliCpu: 1_005, bytes: 1_412_828_864 };

/** A namespace with one quota, in which no launcher more finds room, and a VMMRQ that gives all its VMs a migration at once. */
export const blockedTenant = (namespace: string, vms = 1): Tenant => ({
  namespace,
  quotas: [{ name: 'compute', hard: fullFor(vms) }],
  vms: Array.from({ length: vms }, (_, index) => ({ name: `vm${index}` })),
  gives: roomFor(vms),
});

const fullFor = (vms: number): ResourceList => ({
  pods: String(2 * vms + 5),
  'requests.cpu': `${vms * LAUNCHER.milliCpu + 400}m`,
  'requests.memory': String(vms * LAUNCHER.bytes + 600 * 1_024 ** 2),
});

export const roomFor = (launchers: number): ResourceList => ({
  'requests.cpu': `${launchers * LAUNCHER.milliCpu}m`,
  'requests.memory': String(launchers * LAUNCHER.bytes),
});

/** Makes them all, a few at a time, and starts their VMs. */
export async function settleAll({ admin, watching }: Scene, tenants: readonly Tenant[]): Promise<void> {
  const AT_ONCE = 5;
  for (let from = 0; from < tenants.length; from += AT_ONCE) {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const few = tenants.slice(from, from + AT_ONCE);
    await Promise.all(few.map((tenant) => settle(tenant, { admin, watching, signal })));
  }
}
