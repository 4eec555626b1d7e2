import { expect, test } from '@jest/globals';
import { itsVmi } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { Address, Reader, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { readCpus } from './cpus.ts';

const HOST = 'host-model-cpu.node.kubevirt.io/Skylake';

/** A source that has the node `s-node` with these labels, or answers with this refusal. */
const aSource = (node: Record<string, string> | number): Reader =>
  ({
    get: (_type: ResourceType, { name }: Address) =>
      typeof node === 'number'
        ? Promise.reject(new ApiError('get', { code: node, details: { name } }, new Date(0)))
        : Promise.resolve({ object: { metadata: { ...metadata(name), labels: node } } }),
  }) as unknown as Reader;

/** A target that has so many nodes, for any label selector. */
const aTarget = (nodes: number): Reader =>
  ({
    list: () => Promise.resolve({ items: Array.from({ length: nodes }, () => ({})) }),
  }) as unknown as Reader;

test.each<[string, Reader, number, { unlabelled?: string; missing?: string[] }]>([
  ['a node that says its CPU, which the target has', aSource({ [HOST]: 'true' }), 1, {}],
  [
    'a node that says its CPU, which the target lacks',
    aSource({ [HOST]: 'true' }),
    0,
    { missing: ['cpu-model-migration.node.kubevirt.io/Skylake'] },
  ],
  ['a node without labels', aSource({}), 1, { unlabelled: 's-node' }],
  ['a node that must not be read', aSource(403), 1, {}],
  ['a node that is gone', aSource(404), 1, {}],
])('what is known of the CPU of a guest on %s', async (_what, ...[source, nodes, wanted]) => {
  const read = await readCpus([{ uid: 'web', vmi: itsVmi() }], { source, target: aTarget(nodes) });
  expect(read.unlabelledNodes.get('web')).toBe(wanted.unlabelled);
  expect(read.missingCpus.get('web')).toEqual(wanted.missing);
});
