import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aContainer, aLauncher, anInit, aVmi, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../../test/support/builders/namespace.ts';
import { annotated, labelled } from '../../../test/support/builders/object.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { aLimitRange, exceeded } from '../../../test/support/builders/pod-rejection.ts';
import { renderLauncherPod } from '../../../test/cluster/kubevirt/objects/launcher-pod.ts';
import { newVirtualMachineInstance } from '../../../test/cluster/kubevirt/objects/objects.ts';
import type { Vmi } from '../../../test/cluster/kubevirt/objects/types.ts';
import type { Amounts } from '../quota/charged.ts';
import { estimate, type Estimate, type EstimateInput } from './estimate.ts';
import type { Pod, ResourceQuota, VirtualMachineInstance } from '../objects.ts';
import { podUsage } from './pod-usage.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import { parsePodRejection, type PodRejection } from '../quota/pod-rejection.ts';

const estimateOf = (different: Partial<EstimateInput>): Estimate =>
  estimate({
    source: aLauncher(),
    vmi: aVmi(),
    namespace: aNamespace(),
    quotas: [],
    limitRanges: [],
    overheadRatio: parseQuantity('1'),
    autoLimits: true,
    rejections: [],
    ...different,
  });
const estimated = (different: Partial<EstimateInput> = {}): Amounts => estimateOf(different).need;

const inWords = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([key, amount]) => [key, formatQuantity(amount)]));

const refusedFor = (list: string, quota = 'quota'): PodRejection => {
  const rejection = parsePodRejection(`Error creating pod: ${exceeded(quota, list)}`);
  if (rejection === undefined) throw new Error('no refusal');
  return rejection;
};

const withSpec = (
  spec: NonNullable<VirtualMachineInstance['spec']>,
  status: VirtualMachineInstance['status'] = {},
): VirtualMachineInstance => ({ ...aVmi(), spec, status });

/** A quota because of which KubeVirt added the limit of SOURCE. */
const CPU_LIMITED = [aQuota(hard({ 'limits.cpu': '9' }))];
const SOURCE = aLauncher(
  'vm0',
  podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' }, { cpu: '1' })] }),
);

describe('estimate', () => {
  test.each<[string, Partial<EstimateInput>, Record<string, string>]>([
    ['nothing changed', {}, { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1412828864' }],
    [
      'a refusal names keys: its figures',
      { rejections: [refusedFor('cpu=1200m,limits.memory=5Gi')] },
      { pods: '1', 'requests.cpu': '1200m', 'requests.memory': '1412828864', 'limits.memory': '5368709120' },
    ],
    [
      'of several refusals the newest of each key, less than the estimate as well',
      { rejections: [refusedFor('requests.cpu=900m'), refusedFor('cpu=2,memory=1', 'other')] },
      { pods: '1', 'requests.cpu': '900m', 'requests.memory': '1' },
    ],
    [
      'an older launcher, and a refusal that may be from before the upgrade: the greater',
      {
        vmi: labelled('kubevirt.io/outdatedLauncherImage', '')(aVmi()),
        rejections: [refusedFor('requests.memory=1412828864,requests.cpu=2')],
      },
      { pods: '1', 'requests.cpu': '2', 'requests.memory': String(1412828864 + 64 * 1024 ** 2) },
    ],
    [
      'an older launcher, and refusals of the newer one: their figures, and the margin where they name none',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '1Gi' }, { memory: '2Gi' })] })),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(withSpec({ domain: { resources: { limits: { memory: '1800Mi' } } } })),
        rejections: [refusedFor('requests.memory=1034Mi')],
        rejectionsIncludeUpgrade: true,
      },
      {
        pods: '1',
        'requests.memory': String(1034 * 1024 ** 2),
        'limits.memory': String((2048 + 64) * 1024 ** 2),
      },
    ],
    [
      'an older launcher, refusals of the newer one, and a hotplug that they may be from before: the greater',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '1Gi' })] })),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(withSpec({ domain: { memory: { guest: '2Gi' } } }, { memory: { guestRequested: '1Gi' } })),
        rejections: [refusedFor('requests.memory=1034Mi')],
        rejectionsIncludeUpgrade: true,
      },
      { pods: '1', 'requests.memory': String((2048 + 64 + 2) * 1024 ** 2) },
    ],
    [
      'an older launcher: the overhead may have grown, by the ratio that the KubeVirt CR sets',
      {
        vmi: labelled('kubevirt.io/outdatedLauncherImage', '')(aVmi()),
        overheadRatio: parseQuantity('1.5'),
      },
      { pods: '1', 'requests.cpu': '1005m', 'requests.memory': String(1412828864 + 96 * 1024 ** 2) },
    ],
    [
      'an older launcher of a VM that overcommits its overhead: no more is requested, and its own limit grows',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '1Gi' }, { memory: '2Gi' })] })),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(
          withSpec({
            domain: { resources: { overcommitGuestOverhead: true, limits: { memory: '1800Mi' } } },
          }),
        ),
      },
      {
        pods: '1',
        'requests.memory': String(1024 ** 3),
        'limits.memory': String((2048 + 64) * 1024 ** 2),
      },
    ],
    [
      'an older launcher of a VM that overcommits its overhead: the automatic limit is of the request',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '1Gi' }, { memory: '2Gi' })] })),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(withSpec({ domain: { resources: { overcommitGuestOverhead: true } } })),
        quotas: [aQuota(hard({ 'limits.memory': '9Gi' }))],
      },
      { pods: '1', 'requests.memory': String(1024 ** 3), 'limits.memory': String(2048 * 1024 ** 2) },
    ],
    [
      'an older launcher on huge pages: its overhead is requested, overcommitted or not',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ memory: '200Mi', 'hugepages-2Mi': '1Gi' }, {})] }),
        ),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(
          withSpec({
            domain: {
              memory: { guest: '1Gi', hugepages: { pageSize: '2Mi' } },
              resources: { overcommitGuestOverhead: true },
            },
          }),
        ),
      },
      {
        pods: '1',
        'requests.memory': String(264 * 1024 ** 2),
        'requests.hugepages-2Mi': String(1024 ** 3),
      },
    ],
    [
      'CPUs hotplugged: the request as the VMI says it',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec(
          { domain: { cpu: { sockets: 2 }, resources: { requests: { cpu: '1500m' } } } },
          { currentCPUTopology: { sockets: 1, cores: 1, threads: 1 } },
        ),
      },
      { pods: '1', 'requests.cpu': '1500m', 'limits.cpu': '2', 'requests.memory': String(1032 * 1024 ** 2) },
    ],
    [
      'CPUs hotplugged: else in proportion',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec({ domain: { cpu: { sockets: 3 } } }, { currentCPUTopology: { sockets: 1 } }),
      },
      { pods: '1', 'requests.cpu': '300m', 'limits.cpu': '3', 'requests.memory': String(1040 * 1024 ** 2) },
    ],
    [
      'CPUs hotplugged: a part of one that the API server rounds up to thousandths',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '400m', memory: '1Gi' })] })),
        vmi: withSpec({ domain: { cpu: { sockets: 4 } } }, { currentCPUTopology: { sockets: 3 } }),
      },
      { pods: '1', 'requests.cpu': '534m', 'requests.memory': String(1032 * 1024 ** 2) },
    ],
    [
      'memory hotplugged: the guest and its page tables',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec({ domain: { memory: { guest: '2Gi' } } }, { memory: { guestRequested: '1Gi' } }),
      },
      { pods: '1', 'requests.cpu': '100m', 'limits.cpu': '1', 'requests.memory': String(2050 * 1024 ** 2) },
    ],
    [
      'memory hotplugged on huge pages',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ memory: '200Mi', 'hugepages-2Mi': '1Gi' }, {})] }),
        ),
        vmi: withSpec(
          { domain: { memory: { guest: '2Gi', hugepages: { pageSize: '2Mi' } } } },
          { memory: { guestRequested: '1Gi' } },
        ),
      },
      {
        pods: '1',
        'requests.memory': String(202 * 1024 ** 2),
        'requests.hugepages-2Mi': String(2 * 1024 ** 3),
      },
    ],
    [
      'CPUs of its own hotplugged: those of the emulator stay as many',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '5', memory: '1Gi' }, { cpu: '5', memory: '1Gi' })] }),
        ),
        vmi: withSpec(
          { domain: { cpu: { sockets: 8, dedicatedCpuPlacement: true } } },
          { currentCPUTopology: { sockets: 4 } },
        ),
      },
      {
        pods: '1',
        'requests.cpu': '9',
        'limits.cpu': '9',
        'requests.memory': String(1056 * 1024 ** 2),
        'limits.memory': String(1056 * 1024 ** 2),
      },
    ],
    [
      'a quota has limits by now: KubeVirt adds them, memory by the ratio of the namespace',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' })] })),
        vmi: withSpec({ domain: { cpu: { cores: 2 } } }),
        quotas: [aQuota(hard({ 'limits.cpu': '9', 'limits.memory': '9Gi' }))],
        namespace: labelled('alpha.kubevirt.io/auto-memory-limits-ratio', '1.5')(aNamespace()),
      },
      {
        pods: '1',
        'requests.cpu': '100m',
        'requests.memory': String(1024 ** 3),
        'limits.cpu': '2',
        'limits.memory': String(1536 * 1024 ** 2),
      },
    ],
    [
      'a quota has limits by now: each thread of a supplemental pool counts as a CPU',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '600m', memory: '1Gi' })] })),
        vmi: withSpec({
          domain: {
            cpu: { cores: 2 },
            ioThreadsPolicy: 'supplementalPool',
            ioThreads: { supplementalPoolThreadCount: 4 },
          },
        }),
        quotas: [aQuota(hard({ 'limits.cpu': '9' }))],
      },
      { pods: '1', 'requests.cpu': '600m', 'requests.memory': String(1024 ** 3), 'limits.cpu': '6' },
    ],
    [
      'an older launcher, whose KubeVirt left the pool out of the limit',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '600m', memory: '1Gi' }, { cpu: '2' })] }),
        ),
        vmi: labelled(
          'kubevirt.io/outdatedLauncherImage',
          '',
        )(withSpec({ domain: { cpu: { cores: 2 }, ioThreads: { supplementalPoolThreadCount: 4 } } })),
        quotas: [aQuota(hard({ 'limits.cpu': '9' }))],
      },
      { pods: '1', 'requests.cpu': '600m', 'requests.memory': String(1088 * 1024 ** 2), 'limits.cpu': '6' },
    ],
    [
      'no quota has limits any more: those that KubeVirt added are gone, and a LimitRange fills in its own',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' }, { cpu: '1', memory: '2Gi' })] }),
        ),
        vmi: withSpec({}),
        limitRanges: [aLimitRange({}, { memory: '1536Mi' })],
      },
      {
        pods: '1',
        'requests.cpu': '100m',
        'requests.memory': String(1024 ** 3),
        'limits.memory': String(1536 * 1024 ** 2),
      },
    ],
    [
      'no quota has limits any more: the VMI’s own stay',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' }, { cpu: '1', memory: '2Gi' })] }),
        ),
        vmi: withSpec({ domain: { resources: { limits: { memory: '1800Mi' } } } }),
      },
      {
        pods: '1',
        'requests.cpu': '100m',
        'requests.memory': String(1024 ** 3),
        'limits.memory': String(2 * 1024 ** 3),
      },
    ],
    [
      'no quota has limits any more, and KubeVirt’s CR selects the namespace: its limit of CPU stays',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' }, { cpu: '1', memory: '2Gi' })] }),
        ),
        vmi: withSpec({}),
        namespace: labelled('tier', 'gold')(aNamespace()),
        autoCpuNamespaces: { matchLabels: { tier: 'gold' } },
      },
      { pods: '1', 'requests.cpu': '100m', 'requests.memory': String(1024 ** 3), 'limits.cpu': '1' },
    ],
    [
      'a KubeVirt that adds no limits has not added those of the source: they stay',
      {
        autoLimits: false,
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' }, { cpu: '1' })] }),
        ),
        vmi: withSpec({}),
      },
      { pods: '1', 'requests.cpu': '100m', 'requests.memory': String(1024 ** 3), 'limits.cpu': '1' },
    ],
    [
      'KubeVirt’s CR selects the namespace by now: a limit of CPU, and none of memory',
      {
        source: aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '100m', memory: '1Gi' })] })),
        vmi: withSpec({ domain: { cpu: { cores: 2 } } }),
        namespace: labelled('tier', 'gold')(aNamespace()),
        autoCpuNamespaces: { matchLabels: { tier: 'gold' } },
      },
      { pods: '1', 'requests.cpu': '100m', 'requests.memory': String(1024 ** 3), 'limits.cpu': '2' },
    ],
    [
      'KubeVirt’s CR has a lower cpuAllocationRatio by now: a larger part of each CPU',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec({ domain: { cpu: { cores: 2 } } }),
        cpuAllocationRatio: 4,
      },
      { pods: '1', 'requests.cpu': '500m', 'limits.cpu': '1', 'requests.memory': String(1024 ** 3) },
    ],
    [
      'KubeVirt’s CR has a higher cpuAllocationRatio by now: what would shrink stays',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec({ domain: { cpu: { cores: 2 } } }),
        cpuAllocationRatio: 40,
      },
      { pods: '1', 'requests.cpu': '100m', 'limits.cpu': '1', 'requests.memory': String(1024 ** 3) },
    ],
    [
      'a cpuAllocationRatio does not count for CPUs that the VMI requests itself',
      {
        source: SOURCE,
        quotas: CPU_LIMITED,
        vmi: withSpec({ domain: { cpu: { cores: 2 }, resources: { requests: { cpu: '100m' } } } }),
        cpuAllocationRatio: 1,
      },
      { pods: '1', 'requests.cpu': '100m', 'limits.cpu': '1', 'requests.memory': String(1024 ** 3) },
    ],
    [
      'CPUs of its own hotplugged to an even number: a second one for the emulator',
      {
        source: aLauncher(
          'vm0',
          podSpec({ containers: [aContainer({ cpu: '4', memory: '1Gi' }, { cpu: '4', memory: '1Gi' })] }),
        ),
        vmi: annotated(
          'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity',
          '',
        )(
          withSpec(
            { domain: { cpu: { sockets: 4, dedicatedCpuPlacement: true, isolateEmulatorThread: true } } },
            { currentCPUTopology: { sockets: 3 } },
          ),
        ),
      },
      {
        pods: '1',
        'requests.cpu': '6',
        'limits.cpu': '6',
        'requests.memory': String(1032 * 1024 ** 2),
        'limits.memory': String(1032 * 1024 ** 2),
      },
    ],
    [
      'a KubeVirt that adds no limits: those of the LimitRange',
      {
        autoLimits: false,
        quotas: [aQuota(hard({ 'limits.cpu': '9', 'limits.memory': '9Gi' }))],
        limitRanges: [aLimitRange({}, { cpu: '6' })],
      },
      { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1412828864', 'limits.cpu': '6' },
    ],
    [
      'a launcher that asks for nothing does not begin to',
      {
        source: aLauncher('vm0', podSpec({ containers: [{ name: 'compute' }] })),
        vmi: withSpec({ domain: { cpu: { sockets: 3 } } }, { currentCPUTopology: { sockets: 1 } }),
      },
      { pods: '1' },
    ],
    [
      'the defaults of a LimitRange changed: what it filled in then is replaced by what it says now',
      {
        source: annotated(
          'kubernetes.io/limit-ranger',
          'LimitRanger plugin set: memory request for container compute; cpu, memory limit for container compute; cpu request for init container init',
        )(
          aLauncher(
            'vm0',
            podSpec({
              containers: [aContainer({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '3Gi' })],
              initContainers: [anInit({ cpu: '5' })],
            }),
          ),
        ),
        limitRanges: [aLimitRange({ cpu: '3', memory: '2Gi' }, { cpu: '4' }), aLimitRange({ cpu: '2' })],
      },
      { pods: '1', 'requests.cpu': '3', 'requests.memory': '2147483648', 'limits.cpu': '4' },
    ],
  ])('%s', (_, different, want) => {
    expect(inWords(estimated(different))).toEqual(want);
  });

  test.each<[string, NonNullable<VirtualMachineInstance['spec']>]>([
    ['no quantity', { domain: { memory: { guest: 'much' }, resources: { requests: { cpu: '' } } } }],
    ['negative', { domain: { cpu: { sockets: -1 }, memory: { guest: '-1Gi' } } }],
    ['nothing', {}],
  ])('a VMI with %s: the source pod as it is', (_, spec) => {
    const vmi = withSpec(spec, { memory: { guestRequested: '1Gi' } });
    expect(inWords(estimated({ vmi }))).toEqual(inWords(estimated()));
  });
});

interface Rendering {
  readonly quotas?: readonly ResourceQuota[];
  readonly overheadRatio?: string;
  readonly autoMemoryRatio?: number;
}

/** What a launcher of this VMI is charged, as the KubeVirt stand-in renders it. */
const launcher = (
  vmi: Vmi,
  { quotas = [aQuota(hard({ pods: '1' }))], overheadRatio = '1', autoMemoryRatio = 2 }: Rendering = {},
): Pod =>
  renderLauncherPod({
    ...{ vmi, quotas, autoMemoryRatio },
    configuration: { additionalGuestMemoryOverheadRatio: overheadRatio },
  }) as unknown as Pod;

const aGuest = fc.record({
  cpu: fc.integer({ min: 1, max: 8 }),
  gib: fc.integer({ min: 1, max: 64 }),
  ratio: fc.constantFrom('1', '1.1', '1.5', '2.37'),
  ownRequests: fc.boolean(),
  limited: fc.boolean(),
  /** Threads of its supplemental pool. */
  pool: fc.integer({ min: 0, max: 4 }),
  pinned: fc.constantFrom('no', 'CPUs of its own', 'its emulator thread too', 'and an even number'),
});
type Guest = typeof aGuest extends fc.Arbitrary<infer T> ? T : never;

const running = ({ cpu, gib, ownRequests, pool, pinned }: Guest): Vmi => {
  const memory = `${String(gib)}Gi`;
  const vmi = newVirtualMachineInstance({ namespace: 'tenant', name: 'vm0', cpu, memory });
  const requests = ownRequests ? { cpu: String(cpu), memory } : {};
  const isIsolated = pinned === 'its emulator thread too' || pinned === 'and an even number';
  const { domain } = vmi.spec;
  const spec = {
    ...vmi.spec,
    domain: {
      ...domain,
      cpu: {
        ...domain.cpu,
        dedicatedCpuPlacement: pinned !== 'no',
        isolateEmulatorThread: isIsolated,
      },
      ...(pool === 0
        ? {}
        : { ioThreadsPolicy: 'supplementalPool', ioThreads: { supplementalPoolThreadCount: pool } }),
      resources: { requests },
    },
  };
  const status = {
    memory: { guestRequested: memory },
    currentCPUTopology: { cores: cpu, sockets: 1, threads: 1 },
  };
  const whole = { ...vmi, metadata: { ...aVmi().metadata, ...vmi.metadata }, spec, status };
  return pinned === 'and an even number'
    ? annotated('alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity', '')(whole)
    : whole;
};

test('the limit of huge pages grows as the request does: a LimitRange would refuse less', () => {
  const pages = { 'hugepages-2Mi': '1Gi' };
  const { pod } = estimateOf({
    source: aLauncher('vm0', podSpec({ containers: [aContainer(pages, pages)] })),
    vmi: withSpec(
      { domain: { memory: { guest: '2Gi', hugepages: { pageSize: '2Mi' } } } },
      { memory: { guestRequested: '1Gi' } },
    ),
  });
  const { requests, limits } = pod.spec.containers[0]?.resources ?? {};
  expect(requests?.['hugepages-2Mi']).toBe(String(2 * 1024 ** 3));
  expect(limits?.['hugepages-2Mi']).toBe(requests?.['hugepages-2Mi']);
});

describe('against what the KubeVirt stand-in renders (F38)', () => {
  const LIMITS = [aQuota(hard({ 'limits.cpu': '99', 'limits.memory': '99Gi' }))];

  test('nothing changed, or a quota got or lost limits, or the namespace another ratio: exactly the charge', () => {
    const aRatio = fc.constantFrom('1', '1.1', '1.5', '2.37', '0.5', '1500m', 'much');
    fc.assert(
      fc.property(aGuest, fc.boolean(), aRatio, (guest, isOther, label) => {
        const vmi = running(guest);
        const quotas = guest.limited ? LIMITS : [];
        const { ratio } = guest;
        const before = isOther === guest.limited ? [] : LIMITS;
        const source = launcher(vmi, { quotas: before, overheadRatio: ratio });
        const namespace = labelled('alpha.kubevirt.io/auto-memory-limits-ratio', label)(aNamespace());
        const overheadRatio = parseQuantity(ratio);
        const need = estimated({ source, vmi, quotas, overheadRatio, namespace });
        // What KubeVirt cannot use is 2 (getMemoryLimitsRatio).
        const autoMemoryRatio = Number(label) >= 1 ? Number(label) : 2;
        const charged = podUsage(launcher(vmi, { quotas, overheadRatio: ratio, autoMemoryRatio }));
        expect(inWords(need)).toEqual(inWords(charged));
      }),
    );
  });

  test('CPUs and memory hotplugged, KubeVirt upgraded: never less than the charge', () => {
    const change = fc.record({
      sockets: fc.integer({ min: 1, max: 4 }),
      moreGib: fc.integer({ min: 0, max: 16 }),
      // What the overhead grew by, from one KubeVirt to the next (facts/kubevirt.md §2.1).
      upgradeMib: fc.integer({ min: 0, max: 46 }),
    });
    fc.assert(
      fc.property(aGuest, change, (guest, { sockets, moreGib, upgradeMib }) => {
        const before = running(guest);
        const quotas = guest.limited ? LIMITS : [];
        const gib = `${String(guest.gib + moreGib)}Gi`;
        const { domain } = before.spec;
        const requests = guest.ownRequests ? { cpu: String(guest.cpu * sockets), memory: gib } : {};
        const after: Vmi = {
          ...before,
          spec: {
            ...before.spec,
            domain: {
              ...domain,
              cpu: { ...domain.cpu, sockets },
              memory: { guest: gib },
              resources: { requests },
            },
          },
        };
        const upgraded = upgradeMib > 0 ? labelled('kubevirt.io/outdatedLauncherImage', '')(after) : after;
        const source = launcher(before, { quotas, overheadRatio: guest.ratio });
        const overheadRatio = parseQuantity(guest.ratio);
        const need = estimated({ source, vmi: upgraded, quotas, overheadRatio });
        const charged = podUsage(launcher(after, { quotas, overheadRatio: guest.ratio }));
        const grown = (BigInt(upgradeMib) * parseQuantity('1Mi') * overheadRatio) / parseQuantity('1');
        for (const [key, amount] of charged) {
          const automatic = guest.limited ? 2n * grown : 0n;
          const limit = guest.pinned === 'no' ? automatic : grown;
          const more = { 'requests.memory': grown, 'limits.memory': limit }[key] ?? 0n;
          expect({ key, enough: (need.get(key) ?? 0n) >= amount + more }).toEqual({ key, enough: true });
        }
      }),
    );
  });
});
