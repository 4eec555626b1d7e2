import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, anInit, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { mustSpecify } from './must-specify.ts';
import type { Pod } from '../objects.ts';

const sidecar = { ...aContainer({ memory: '1' }, { cpu: '1' }), name: 'sidecar' };

describe('mustSpecify', () => {
  test.each<[string, [string[], Partial<Pod['spec']>], string | undefined]>([
    [
      'all is there',
      [['cpu', 'limits.cpu'], { containers: [aContainer({ cpu: '1' }, { cpu: '1' })] }],
      undefined,
    ],
    ['a value of zero is one', [['requests.cpu'], { containers: [aContainer({ cpu: '0' })] }], undefined],
    [
      'a limit',
      [['limits.memory'], { containers: [aContainer({ memory: '1' })] }],
      'limits.memory for: compute',
    ],
    [
      'of several containers, in the order of the API server',
      [
        ['requests.cpu', 'limits.memory', 'cpu'],
        { containers: [sidecar, aContainer({}, { memory: '1' })], initContainers: [anInit({ cpu: '1' })] },
      ],
      'cpu for: compute,sidecar; limits.memory for: init,sidecar; requests.cpu for: compute,sidecar',
    ],
    [
      'only CPU and memory',
      [
        ['pods', 'ephemeral-storage', 'requests.example.com/gpu', 'hugepages-2Mi', 'services'],
        { containers: [{ name: 'compute' }] },
      ],
      undefined,
    ],
    [
      'not of a pod that asks as a whole',
      [['limits.cpu'], { containers: [{ name: 'compute' }], resources: { limits: { memory: '1Gi' } } }],
      undefined,
    ],
  ])('%s', (_, [keys, spec], want) => {
    const quota = aQuota(hard(Object.fromEntries(keys.map((key) => [key, '10']))));
    expect(mustSpecify(quota, aLauncher('vm0', podSpec(spec)))).toBe(want);
  });
});
