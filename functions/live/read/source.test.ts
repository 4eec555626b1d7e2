import { expect, test } from '@jest/globals';
import { sent } from '../../../test/support/builders/live-run.ts';
import { aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Reader, ResourceType, Selection } from '../../kubernetes/cluster.ts';
import { withRecord, type RunRecord } from '../run/record.ts';
import { readSourceCore } from './source.ts';

const OTHER = sent('Running', (vmim) => ({ ...vmim, metadata: { ...vmim.metadata, uid: 'of-another-run' } }));
const AT = { namespace: 'vms', name: 'web' };
const KNOWN = { now: 0, cluster: 'source' };
const END = { as: 'Canceled', reason: 'UserRequested', message: 'canceled', at: seconds(0) } as const;

/** A cluster with the VM, its VMI, and an unfinished VMIM of another migration of it. */
function aReader(record: Partial<RunRecord>): Reader {
  const date = new Date(0);
  const vm = withRecord(
    aVm(),
    aRecord((one) => ({ ...one, ...record })),
  );
  const objects: Record<string, KubernetesObject> = { [vm.kind ?? '']: vm, VirtualMachineInstance: itsVmi() };
  return {
    get: ({ kind }: ResourceType, { name }: { readonly name: string }) => {
      const object = objects[kind];
      const status = { code: 404, reason: 'NotFound', details: { name } };
      return object === undefined
        ? Promise.reject(new ApiError('get', status, date))
        : Promise.resolve({ object, date });
    },
    list: (_type: ResourceType, { labelSelector = '' }: Selection) =>
      Promise.resolve({ items: labelSelector.startsWith('kubevirt.io/') ? [OTHER] : [], date }),
  } as unknown as Reader;
}

test.each<[string, Partial<RunRecord>, number]>([
  ['before the cut-over', {}, 1],
  ['while a run goes back: they say whether KubeVirt keeps the VM down', { attempt: 1, end: END }, 1],
  ['not once the guest has arrived: nothing is decided by them', { attempt: 1, arrivedAt: seconds(0) }, 0],
])('unfinished VMIMs of others are read %s', async (_when, record, count) => {
  const { others } = await readSourceCore(aReader(record), { at: AT, run: RUN, known: KNOWN });
  expect(others).toHaveLength(count);
});
