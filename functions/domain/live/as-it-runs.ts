import type { Condition } from '../objects.ts';
import { sameQuantity } from '../quantity.ts';
import type { Named, VirtualMachine, Vmi } from './kubevirt.ts';

/** How a VM differs from its VMI: the standby VM is built from the one, and receives the other. */
export interface Difference {
  readonly kind: 'VMRestartRequired' | 'VolumeNotPersisted';
  readonly message: string;
}

/**
 * What of the VM is not as it runs. Everything that the VM's template says must be so in its VMI, which says more: instance types
 * and KubeVirt's defaults are expanded there.
 */
export function differencesOf({ spec, status }: VirtualMachine, vmi: Vmi): Difference[] {
  const restart = (status?.conditions ?? []).find(isRestartRequired);
  if (restart !== undefined)
    return [{ kind: 'VMRestartRequired', message: restart.message ?? 'the VM must be restarted' }];
  const { domain, volumes = [], networks = [] } = spec.template.spec;
  const running = vmi.spec;
  const paths = [
    ...missing(domain, running.domain, 'domain'),
    ...missing(volumes, running.volumes, 'volumes'),
    ...missing(networks, running.networks, 'networks'),
  ];
  const changed = paths.map((path): Difference => ({
    kind: 'VMRestartRequired',
    message: `${path} is not as it runs: restart the VM`,
  }));
  return [...changed, ...unpersisted(volumes, running.volumes ?? [])];
}

/**
 * The guest's hardware that another cluster's instance types, preferences and defaults may have given otherwise, in words. A guest
 * cannot go on with other hardware, and its launcher would be of another size. What one of the two does not say is not compared.
 */
export function otherHardware(
  { spec: { domain: source } }: Vmi,
  { spec: { domain: target } }: Vmi,
): string[] {
  const [from, to] = [hardwareOf(source), hardwareOf(target)];
  return HARDWARE.flatMap((field) => {
    const [had, has] = [from[field], to[field]];
    if (had === undefined || has === undefined || sameQuantity(had, has)) return [];
    return [`${field} is ${had} on the source and ${has} on the target`];
  });
}

const HARDWARE = [
  'cpu.sockets',
  'cpu.cores',
  'cpu.threads',
  'memory.guest',
  'memory.hugepages.pageSize',
] as const;

const hardwareOf = ({
  cpu = {},
  memory = {},
}: Vmi['spec']['domain']): Readonly<Record<(typeof HARDWARE)[number], string | undefined>> => ({
  'cpu.sockets': String(cpu.sockets ?? 1),
  'cpu.cores': String(cpu.cores ?? 1),
  'cpu.threads': String(cpu.threads ?? 1),
  'memory.guest': memory.guest,
  'memory.hugepages.pageSize': memory.hugepages?.pageSize,
});

const isRestartRequired = ({ type, status }: Condition): boolean =>
  type === 'RestartRequired' && status === 'True';

const unpersisted = (volumes: readonly Named[], running: readonly Named[]): Difference[] =>
  running
    .filter(({ name }) => !volumes.some((volume) => volume.name === name))
    .map(({ name }) => ({
      kind: 'VolumeNotPersisted',
      message: `volume ${name} was hotplugged into the VMI only: add it to the VM (virtctl addvolume --persist), or remove it`,
    }));

/** Paths at which `wanted` says something that `actual` does not. Lists of named things are compared by name. */
function missing(wanted: unknown, actual: unknown, path: string): string[] {
  if (Array.isArray(wanted)) return missingInList(wanted, actual, path);
  if (typeof wanted !== 'object' || wanted === null) return wanted === actual ? [] : [path];
  const there = typeof actual === 'object' && actual !== null ? (actual as Record<string, unknown>) : {};
  if (isUnplugged(wanted)) return [];
  return Object.entries(wanted).flatMap(([key, value]) => missing(value, there[key], `${path}.${key}`));
}

function missingInList(wanted: readonly unknown[], actual: unknown, path: string): string[] {
  const there: readonly unknown[] = Array.isArray(actual) ? actual : [];
  return wanted.flatMap((each, index) => {
    const name = nameOf(each);
    const other = name === undefined ? there[index] : there.find((one) => nameOf(one) === name);
    const at = `${path}[${name ?? String(index)}]`;
    return other === undefined && !isUnplugged(each) ? [at] : missing(each, other, at);
  });
}

/** An interface that was unplugged: KubeVirt takes it out of the VMI. */
const isUnplugged = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as { state?: unknown }).state === 'absent';

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? (value as Partial<Named>).name : undefined;
