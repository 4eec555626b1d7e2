import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, anInit, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { canonicalKey } from '../quota/charged.ts';
import type { KubernetesObject, Pod, ResourceList, ResourceQuota } from '../objects.ts';
import { podUsage } from './pod-usage.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';

const usageOf = (spec: Partial<Pod['spec']>): ResourceList =>
  Object.fromEntries(
    [...podUsage(aLauncher('vm0', podSpec(spec)))].map(([key, amount]) => [key, formatQuantity(amount)]),
  );

describe('podUsage', () => {
  test.each<[string, Partial<Pod['spec']>, ResourceList]>([
    ['a pod without any request', { containers: [{ name: 'compute' }] }, { pods: '1' }],
    [
      'containers add up',
      {
        containers: [
          aContainer({ cpu: '1', memory: '1Gi' }, { cpu: '2' }),
          aContainer({ cpu: '500m' }, { memory: '1Ki' }),
        ],
      },
      {
        pods: '1',
        'requests.cpu': '1500m',
        'requests.memory': '1073741824',
        'limits.cpu': '2',
        'limits.memory': '1024',
      },
    ],
    [
      'a plain init container counts only where it alone needs more',
      { containers: [aContainer({ cpu: '1', memory: '1k' })], initContainers: [anInit({ cpu: '3' })] },
      { pods: '1', 'requests.cpu': '3', 'requests.memory': '1000' },
    ],
    [
      'of plain init containers the greatest, not the sum',
      {
        containers: [aContainer({ cpu: '1' })],
        initContainers: [anInit({ cpu: '2' }), anInit({ cpu: '3' }), anInit({ cpu: '2' })],
      },
      { pods: '1', 'requests.cpu': '3' },
    ],
    [
      'a sidecar goes on beside the containers',
      { containers: [aContainer({ cpu: '1' })], initContainers: [anInit({ cpu: '5m' }, 'Always')] },
      { pods: '1', 'requests.cpu': '1005m' },
    ],
    [
      'an init container runs beside the sidecars before it, not those after it',
      {
        containers: [aContainer({ cpu: '1' })],
        initContainers: [
          anInit({ cpu: '1' }, 'Always'),
          anInit({ cpu: '4' }),
          anInit({ cpu: '2' }, 'Always'),
        ],
      },
      { pods: '1', 'requests.cpu': '5' },
    ],
    [
      'overhead comes on top of requests, and of limits only where there is one',
      {
        containers: [aContainer({ cpu: '1', memory: '1' }, { cpu: '2' })],
        overhead: { cpu: '250m', memory: '10' },
      },
      { pods: '1', 'requests.cpu': '1250m', 'requests.memory': '11', 'limits.cpu': '2250m' },
    ],
    [
      'pod-level resources win over the sum, overhead still comes on top',
      {
        containers: [aContainer({ cpu: '1', memory: '1' })],
        resources: { requests: { cpu: '4' }, limits: { memory: '9' } },
        overhead: { cpu: '1', memory: '1' },
      },
      { pods: '1', 'requests.cpu': '5', 'requests.memory': '2', 'limits.memory': '10' },
    ],
    [
      'of a pod as a whole only CPU, memory and huge pages; a limit of zero is none, and gets no overhead',
      {
        containers: [aContainer({ 'ephemeral-storage': '1' }, { cpu: '0' })],
        resources: { requests: { 'ephemeral-storage': '5', 'hugepages-2Mi': '2Mi' } },
        overhead: { cpu: '1' },
      },
      {
        pods: '1',
        'requests.ephemeral-storage': '1',
        'requests.hugepages-2Mi': '2097152',
        'requests.cpu': '1',
        'limits.cpu': '0',
      },
    ],
    [
      "what no quota counts: Kubernetes' own names",
      { containers: [aContainer({ 'kubernetes.io/thing': '1', 'example.com/gpu': '1' })] },
      { pods: '1', 'requests.example.com/gpu': '1' },
    ],
    [
      'huge pages and devices by their requests; their limits do not count',
      {
        containers: [
          aContainer(
            { 'hugepages-2Mi': '4Mi', 'devices.kubevirt.io/tun': '1', 'ephemeral-storage': '50M' },
            { 'hugepages-2Mi': '4Mi', 'devices.kubevirt.io/tun': '1', 'ephemeral-storage': '60M' },
          ),
        ],
      },
      {
        pods: '1',
        'requests.hugepages-2Mi': '4194304',
        'requests.devices.kubevirt.io/tun': '1',
        'requests.ephemeral-storage': '50000000',
        'limits.ephemeral-storage': '60000000',
      },
    ],
  ])('%s', (_, spec, want) => {
    expect(usageOf(spec)).toEqual(want);
  });
});

interface Line {
  readonly kind: string;
  readonly object: KubernetesObject;
}

const RECORDED = new URL('../../../test/recorded/', import.meta.url);
const HISTORIES = readdirSync(RECORDED).filter((name) => /^history-.*\.jsonl$/.test(name));

function readHistory(name: string): Line[] {
  const lines = readFileSync(new URL(name, RECORDED), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
}

describe('charges of the real quota admission (test/recorded) (F38)', () => {
  test('there are recordings', () => {
    expect(HISTORIES).toHaveLength(4);
  });

  test.each(HISTORIES)('%s: `used` is always the usage of the pods that it counts, exactly', (name) => {
    const history = readHistory(name);
    const pods = new Map(
      history.flatMap(({ kind, object }) =>
        kind === 'Pod' ? [[object.metadata.name, object as Pod] as const] : [],
      ),
    );
    const quotas = history.flatMap(({ kind, object }) =>
      kind === 'ResourceQuota' ? [object as ResourceQuota] : [],
    );
    const counts = new Set<number>();
    for (const used of quotas.flatMap(({ status }) => (status?.used === undefined ? [] : [status.used]))) {
      const count = Number(used['pods']);
      counts.add(count);
      // Both launchers of a VM are charged the same, so it does not matter which of them is left.
      const charged = [...pods.values()].slice(0, count).map(podUsage);
      for (const [key, text] of Object.entries(used)) {
        const sum = charged.reduce((total, usage) => total + (usage.get(canonicalKey(key)) ?? 0n), 0n);
        expect([key, formatQuantity(sum)]).toEqual([key, formatQuantity(parseQuantity(text))]);
      }
    }
    expect([...counts].toSorted()).toEqual([...new Array<number>(pods.size + 1).keys()]);
  });
});
