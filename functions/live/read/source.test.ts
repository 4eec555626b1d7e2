import { expect, test } from '@jest/globals';
import { sent } from '../../../test/support/builders/live-run.ts';
import { aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Reader, ResourceType, Selection } from '../../kubernetes/cluster.ts';
import { withRecord, type RunRecord } from '../run/record.ts';
import { readSourceCore, readSourceSide } from './source.ts';

const OTHER = sent('Running', (vmim) => ({
  ...vmim,
  metadata: { ...vmim.metadata, name: 'of-another-run', uid: 'of-another-run' },
}));
const AT = { namespace: 'vms', name: 'web' };
const KNOWN = { now: 0, cluster: 'source' };
const END = { as: 'Canceled', reason: 'UserRequested', message: 'canceled', at: seconds(0) } as const;

const OWN = sent('Running');

/** A cluster with the VM, its VMI, and VMIMs: one of the run, and an unfinished one of another migration of the VM. */
function aReader(record: Partial<RunRecord>, requests: string[] = []): Reader {
  const date = new Date(0);
  const vm = withRecord(
    aVm(),
    aRecord((one) => ({ ...one, ...record })),
  );
  const objects: Record<string, KubernetesObject> = { [vm.kind ?? '']: vm, VirtualMachineInstance: itsVmi() };
  return {
    get: ({ kind }: ResourceType, { name }: { readonly name: string }) => {
      requests.push(kind);
      const object = objects[kind];
      const status = { code: 404, reason: 'NotFound', details: { name } };
      return object === undefined
        ? Promise.reject(new ApiError('get', status, date))
        : Promise.resolve({ object, date });
    },
    list: (_type: ResourceType, { labelSelector = '' }: Selection) => {
      requests.push(labelSelector.split('=')[0] ?? '');
      return Promise.resolve({
        items: labelSelector.startsWith('kubevirt.io/') ? [OTHER, OWN] : [OWN],
        date,
      });
    },
  } as unknown as Reader;
}

test.each<[string, Partial<RunRecord>, number]>([
  ['before the cut-over', {}, 1],
  ['while a run goes back: they say whether KubeVirt keeps the VM down', { attempt: 1, end: END }, 1],
  ['not once the guest has arrived: nothing is decided by them', { attempt: 1, arrivedAt: seconds(0) }, 0],
])('unfinished VMIMs of others are read %s', async (_when, record, count) => {
  const { others } = await readSourceCore(aReader(record), { at: AT, run: RUN, id: 'source', known: KNOWN });
  expect(others).toHaveLength(count);
});

const OF_SOURCE = { at: AT, run: RUN, id: 'source', known: undefined };

test.each<[string, Partial<RunRecord>, string]>([
  ['before the guest has arrived, with those of others', { attempt: 1 }, 'kubevirt.io/vmi-name'],
  ['afterwards', { attempt: 1, arrivedAt: seconds(0) }, 'live.mtq.kubevirt.io/migration'],
])('VMIMs of the run are listed once %s', async (_when, record, label) => {
  const requests: string[] = [];
  const { vmims } = await readSourceCore(aReader(record, requests), OF_SOURCE);
  expect(vmims).toEqual([OWN]);
  expect(requests).toEqual(['VirtualMachine', 'VirtualMachineInstance', label]);
});

test('the VM of the run says which cluster it is; without it kube-system does', async () => {
  expect(await readSourceCore(aReader({}), OF_SOURCE)).toMatchObject({ cluster: 'source', now: 0 });
  const requests: string[] = [];
  const other = { ...OF_SOURCE, run: { ...RUN, vm: 'another' } };
  await expect(readSourceCore(aReader({}, requests), other)).rejects.toThrow();
  expect(requests).toContain('Namespace');
});

test.each<[string, Partial<RunRecord>, boolean]>([
  ['until the guest may have left', { attempt: 1 }, true],
  ['not afterwards: they prove nothing', { attempt: 1, marks: [{ mark: 'Sent', at: seconds(0) }] }, false],
])('launchers are read %s', async (_when, record, areRead) => {
  const requests: string[] = [];
  const reader = aReader(record, requests);
  await readSourceSide(reader, await readSourceCore(reader, OF_SOURCE), undefined);
  expect(requests.some((request) => request === 'kubevirt.io')).toBe(areRead);
});
