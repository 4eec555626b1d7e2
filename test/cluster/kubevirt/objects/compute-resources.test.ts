import { describe, expect, test } from '@jest/globals';
import type { ResourceQuota } from '../../../../functions/domain/objects.ts';
import { computeResources, overheadInBytes } from './compute-resources.ts';
import { ANNOTATIONS } from './names.ts';
import { newVirtualMachineInstance, type Configuration, type VmiOptions } from './objects.ts';
import { RELEASE, releaseOf, type Release } from './release.ts';
import type { Vmi } from './types.ts';

const vmi = (options: Partial<VmiOptions> = {}): Vmi =>
  newVirtualMachineInstance({ namespace: 'tenant', name: 'vm0', ...options }) as Vmi;

const quota = (...keys: string[]): ResourceQuota =>
  ({ spec: { hard: Object.fromEntries(keys.map((key) => [key, '1'])) } }) as unknown as ResourceQuota;

const pinned = (cores: number): Vmi['spec']['domain']['cpu'] => ({
  ...{ cores, sockets: 1, threads: 1, model: 'host-passthrough' },
  ...{ dedicatedCpuPlacement: true, isolateEmulatorThread: true },
});

interface Case {
  options?: Partial<VmiOptions>;
  domain?: Partial<Vmi['spec']['domain']>;
  annotations?: Record<string, string>;
  configuration?: Configuration;
  quotas?: ResourceQuota[];
  release?: Release;
  want: { requests?: Record<string, string>; limits?: Record<string, string> };
}

const CASES: Record<string, Case> = {
  'requests, and the overhead on the memory': { want: { requests: { cpu: '1', memory: '1314Mi' } } },
  'no requests: the guest, and a tenth of a CPU each': {
    options: { cpu: 2, memory: '2Gi', resources: {} },
    want: { requests: { cpu: '200m', memory: '2348Mi' } },
  },
  'its own limits, with the overhead': {
    options: { resources: { requests: { memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } } },
    quotas: [quota('limits.cpu', 'limits.memory')],
    want: { limits: { cpu: '2', memory: '2338Mi' } },
  },
  'a quota on limits: limits by itself, memory twice its request': {
    quotas: [quota('pods'), quota('limits.cpu', 'limits.memory')],
    want: { limits: { cpu: '1', memory: '2628Mi' } },
  },
  'a quota on one limit only': {
    quotas: [quota('limits.memory')],
    want: { limits: { memory: '2628Mi', 'devices.kubevirt.io/tun': '1' } },
  },
  'threads of a supplemental pool count as virtual CPUs': {
    options: { cpu: 2, resources: {} },
    domain: { ioThreadsPolicy: 'supplementalPool', ioThreads: { supplementalPoolThreadCount: 4 } },
    quotas: [quota('limits.cpu')],
    want: { requests: { cpu: '600m' }, limits: { cpu: '6' } },
  },
  'CPUs of its own, with the pool, and one for the emulator': {
    domain: {
      cpu: pinned(5),
      ioThreadsPolicy: 'supplementalPool',
      ioThreads: { supplementalPoolThreadCount: 2 },
    },
    annotations: { [ANNOTATIONS.emulatorParity]: '' },
    want: { requests: { cpu: '8' }, limits: { cpu: '8', memory: '1446Mi' } },
  },
  'CPUs of its own, and two for the emulator where that makes them even': {
    domain: {
      cpu: pinned(6),
      ioThreadsPolicy: 'supplementalPool',
      ioThreads: { supplementalPoolThreadCount: 2 },
    },
    annotations: { [ANNOTATIONS.emulatorParity]: '' },
    want: { requests: { cpu: '10' }, limits: { cpu: '10' } },
  },
  'a greater overhead, as after a change of the KubeVirt CR': {
    configuration: { additionalGuestMemoryOverheadRatio: '1.5' },
    want: { requests: { memory: '1459Mi' } },
  },
  'a later release, whose launcher needs more': {
    quotas: [quota('limits.memory')],
    release: releaseOf('v1.9.1', { moreOverhead: '20Mi' }),
    want: { requests: { memory: '1334Mi' }, limits: { memory: '2668Mi' } },
  },
};

describe('computeResources', () => {
  test.each(Object.entries(CASES))(
    '%s',
    (_, { options, domain, annotations, configuration = {}, quotas = [], release = RELEASE, want }) => {
      const plain = vmi(options);
      const changed = {
        ...plain,
        metadata: { ...plain.metadata, annotations: { ...plain.metadata.annotations, ...annotations } },
        spec: { ...plain.spec, domain: { ...plain.spec.domain, ...domain } },
      };
      expect(computeResources({ vmi: changed, configuration, quotas, release })).toMatchObject(want);
    },
  );

  test('the overhead in bytes, as the launcher says it', () => {
    expect(overheadInBytes({ vmi: vmi(), configuration: {} })).toBe('304087040');
  });
});
