import { shown } from '../../domain/foreign-text.ts';
import type { Condition } from '../../domain/objects.ts';
import { sameQuantity } from '../../domain/quantity.ts';
import type { Named, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';

/** A difference between a VM and its VMI: the standby VM is built from the VM, and receives the VMI's guest. */
export interface Difference {
  readonly kind: 'VMRestartRequired' | 'VolumeNotPersisted';
  readonly message: string;
}

/**
 * Returns the parts of the VM that are not as it runs. Everything in the VM's template must be so in its VMI, which has more: instance
 * types and KubeVirt's defaults are expanded there.
 */
export function differencesOf({ spec, status }: VirtualMachine, vmi: Vmi): Difference[] {
  const restart = (status?.conditions ?? []).find(isRestartRequired);
  if (restart !== undefined)
    return [
      {
        kind: 'VMRestartRequired',
        message: shown(restart.message ?? 'its KubeVirt reports RestartRequired'),
      },
    ];
  const { domain, volumes = [], networks = [] } = spec.template.spec;
  const running = vmi.spec;
  const paths = [
    ...missingPaths(domain, running.domain, 'domain'),
    ...missingPaths(volumes, running.volumes, 'volumes'),
    ...missingPaths(networks, running.networks, 'networks'),
  ];
  const changed = paths.map((path): Difference => ({
    kind: 'VMRestartRequired',
    message: `${path} is not as it runs: restart the VM while no run moves it`,
  }));
  return [...changed, ...unpersisted(volumes, running.volumes ?? [])];
}

/**
 * Returns the differences of the guest's hardware that another cluster's instance types, preferences and defaults may cause, in words. A
 * guest cannot go on with other hardware, and its launcher would be of another size. A part that one of the two leaves out is not compared.
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

/** Returns why the guest could not go on in the VMI that waits for it, with what to do; undefined if it can. */
export function hardwareProblem(
  { vm, vmi }: { readonly vm: VirtualMachine; readonly vmi: Vmi | undefined },
  receiver: Vmi | undefined,
): string | undefined {
  if (vmi === undefined || receiver === undefined) return undefined;
  const plugged = [
    ...namesBeside(vmi.spec.volumes, receiver.spec.volumes),
    ...namesBeside(interfacesOf(vmi), interfacesOf(receiver)),
  ];
  if (plugged.length > 0)
    return `${plugged.join(', ')} was plugged in during the run, so the VM on the target lacks it: run the plan again`;
  const differences = otherHardware(vmi, receiver);
  if (differences.length === 0) return undefined;
  const { instancetype, preference } = vm.spec;
  const named = [instancetype, preference].flatMap((matcher) => matcher?.name ?? []);
  const mend =
    named.length === 0
      ? 'set it in the VM itself, because the defaults of the two KubeVirts differ'
      : `make ${named.join(' and ')} of the target the same as on the source`;
  return `${differences.join('; ')}: ${mend}; if the VM was changed during the run, run the plan again`;
}

const interfacesOf = ({ spec: { domain } }: Vmi): readonly Named[] =>
  (domain.devices?.interfaces ?? []).filter((one) => !isUnplugged(one));

const namesBeside = (source: readonly Named[] = [], target: readonly Named[] = []): string[] =>
  source.map(({ name }) => name).filter((name) => !target.some((one) => one.name === name));

const HARDWARE = [
  'cpu.sockets',
  'cpu.cores',
  'cpu.threads',
  'cpu.model',
  'cpu.dedicatedCpuPlacement',
  'memory.guest',
  'memory.hugepages.pageSize',
  'firmware.bootloader',
  'devices.tpm',
  'devices.gpus',
  'devices.hostDevices',
] as const;

type Hardware = Readonly<Record<(typeof HARDWARE)[number], string | undefined>>;
type Domain = Vmi['spec']['domain'];

/** Returns the hardware with KubeVirt's defaults. */
const hardwareOf = ({ cpu, memory = {}, firmware = {}, devices = {} }: Domain): Hardware => ({
  ...cpuIn(cpu),
  'memory.guest': memory.guest,
  'memory.hugepages.pageSize': memory.hugepages?.pageSize,
  'firmware.bootloader': firmware.bootloader?.efi === undefined ? 'bios' : 'efi',
  'devices.tpm': devices.tpm === undefined ? 'none' : 'there',
  'devices.gpus': numberOf(devices['gpus']),
  'devices.hostDevices': numberOf(devices['hostDevices']),
});

const cpuIn = ({
  sockets = 1,
  cores = 1,
  threads = 1,
  model,
  dedicatedCpuPlacement = false,
}: NonNullable<Domain['cpu']> = {}): Pick<Hardware, Extract<keyof Hardware, `cpu.${string}`>> => ({
  'cpu.sockets': String(sockets),
  'cpu.cores': String(cores),
  'cpu.threads': String(threads),
  'cpu.model': model,
  'cpu.dedicatedCpuPlacement': String(dedicatedCpuPlacement),
});

const numberOf = (list: unknown): string => String(Array.isArray(list) ? list.length : 0);

const isRestartRequired = ({ type, status }: Condition): boolean =>
  type === 'RestartRequired' && status === 'True';

const unpersisted = (volumes: readonly Named[], running: readonly Named[]): Difference[] =>
  namesBeside(running, volumes).map((name) => ({
    kind: 'VolumeNotPersisted',
    message: `volume ${name} was hotplugged into the VMI only: add it to the VM (virtctl addvolume --persist), or remove it`,
  }));

/** Returns the paths of `wanted` that `actual` lacks or has otherwise. Lists of named things are compared by name. */
export function missingPaths(wanted: unknown, actual: unknown, path: string): string[] {
  if (Array.isArray(wanted)) return missingInList(wanted, actual, path);
  if (typeof wanted !== 'object' || wanted === null) return wanted === actual ? [] : [path];
  const there = typeof actual === 'object' && actual !== null ? (actual as Record<string, unknown>) : {};
  if (isUnplugged(wanted)) return [];
  return Object.entries(wanted).flatMap(([key, value]) => missingPaths(value, there[key], `${path}.${key}`));
}

function missingInList(wanted: readonly unknown[], actual: unknown, path: string): string[] {
  const there: readonly unknown[] = Array.isArray(actual) ? actual : [];
  return wanted.flatMap((each, index) => {
    const name = nameOf(each);
    const other = name === undefined ? there[index] : there.find((one) => nameOf(one) === name);
    const at = `${path}[${name ?? String(index)}]`;
    return other === undefined && !isUnplugged(each) ? [at] : missingPaths(each, other, at);
  });
}

/** Returns all paths of a value, with those of its parts, as `missingPaths` names them. */
export function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  const parts: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((each: unknown, index) => [`${path}[${nameOf(each) ?? String(index)}]`, each])
    : Object.entries(value).map(([key, each]) => [`${path}.${key}`, each]);
  return [path, ...parts.flatMap(([at, each]) => pathsIn(each, at))];
}

/** Whether the interface was unplugged: KubeVirt removes it from the VMI. */
const isUnplugged = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as { state?: unknown }).state === 'absent';

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? (value as Partial<Named>).name : undefined;
