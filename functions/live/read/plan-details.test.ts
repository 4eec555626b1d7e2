import { expect, test } from '@jest/globals';
import { aSource, aTarget, aVmView } from '../../../test/support/builders/live-plan.ts';
import { aPlan, aVm, RUN } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import type { Address, Reader, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { readDetails } from './plan-details.ts';

/** A cluster that has every object, but answers so for those of a kind. */
const aCluster = (code?: number, of: string = LIVE_KIND.revision.kind): Reader =>
  ({
    get: ({ apiVersion, kind }: ResourceType, { name }: Address) =>
      kind === of && code !== undefined
        ? Promise.reject(new ApiError('get', { code, details: { name } }, new Date(0)))
        : Promise.resolve({ object: { apiVersion, kind, metadata: metadata(name) } }),
    list: () => Promise.resolve({ items: [] }),
  }) as unknown as Reader;

const vm = aVm((one) => ({
  ...one,
  spec: {
    ...one.spec,
    instancetype: { kind: LIVE_KIND.instancetype.kind, name: 'large', revisionName: 'web-large-1' },
  },
}));
const view = {
  plan: aPlan(),
  sourceCluster: aSource({ vms: [aVmView({ found: [vm] })] }),
  targetCluster: aTarget(),
};

const KNOWN = (): Promise<boolean> => Promise.resolve(true);

test.each<[string, number | undefined, unknown]>([
  ['is there', undefined, { onSource: [], onTarget: [expect.anything()] }],
  ['is gone', 404, { onSource: [], onTarget: [expect.anything()] }],
  ['may not be read: the rest of the plan is known', 403, 'hidden'],
])('the ControllerRevision of an instance type %s', async (_what, revision, wanted) => {
  const { instanceTypes } = await readDetails(
    view,
    { source: aCluster(revision), target: aCluster() },
    KNOWN,
  );
  expect(instanceTypes.get(RUN.vm)).toEqual(wanted);
});

test('a source that answers with an error is unknown', async () => {
  await expect(readDetails(view, { source: aCluster(500), target: aCluster() }, KNOWN)).rejects.toMatchObject(
    {
      side: 'source',
    },
  );
});

test.each<[string, { reads?: number; may?: boolean }, readonly string[] | undefined]>([
  ['is missing where the source does not have it', { reads: 404 }, ['Secret login']],
  ['is not missing where the source has it', {}, []],
  ['may not be read: its run says so', { reads: 403 }, undefined],
  ['may not be known by the requester', { reads: 404, may: false }, undefined],
])('a Secret that a VM names %s', async (_what, { reads, may = true }, wanted) => {
  const { template } = vm.spec;
  const volumes = [{ name: 'login', secret: { secretName: 'login' } }];
  const naming = {
    ...vm,
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, volumes } } },
  };
  const { missingResources } = await readDetails(
    { ...view, sourceCluster: aSource({ vms: [aVmView({ found: [naming] })] }) },
    { source: aCluster(reads, LIVE_KIND.secret.kind), target: aCluster() },
    () => Promise.resolve(may),
  );
  expect(missingResources.get(RUN.vm)).toEqual(wanted);
});
