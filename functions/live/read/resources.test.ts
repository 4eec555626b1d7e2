import { describe, expect, test } from '@jest/globals';
import { metadata } from '../../../test/support/builders/object.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import type { Resource } from '../on-target/resources.ts';
import type { Address, Reader, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { readResources, readSourceResources } from './resources.ts';

const ofSize = (guest: number): object => ({ ...LIVE_KIND.instancetype, spec: { cpu: { guest } } });

/** A cluster that has the instance type `large` as it is now, and this as ControllerRevision `web-large-1`. */
const aReader = (revision: object | number): Reader =>
  ({
    get: ({ kind }: ResourceType, { name }: Address) => {
      if (kind !== LIVE_KIND.revision.kind)
        return Promise.resolve({ object: { ...ofSize(4), kind, metadata: metadata(name) } });
      if (typeof revision === 'number')
        return Promise.reject(new ApiError('get', { code: revision, details: { name } }, new Date(0)));
      return Promise.resolve({ object: { metadata: metadata(name), data: revision } });
    },
  }) as unknown as Reader;

const LARGE: Resource = { ...LIVE_KIND.instancetype, name: 'large' };
const STORED: Resource = { ...LARGE, revision: 'web-large-1' };

type Found = Awaited<ReturnType<typeof readResources>>;
const sizes = (found: Found): number[] =>
  found.map((object) => (object as unknown as { spec: { cpu: { guest: number } } }).spec.cpu.guest);

describe('an instance type of the source', () => {
  test.each<[string, Resource, object | number, number[]]>([
    ['is as it is now where none is stored', LARGE, 404, [4]],
    ['is what is stored for the VM', STORED, ofSize(2), [2]],
    ['is not known where the revision is gone: what it is now may be another one', STORED, 404, []],
    ['is not known where the revision has none', STORED, { spec: { template: {} } }, []],
  ])('%s', async (_what, ...[resource, revision, wanted]) => {
    expect(sizes(await readSourceResources(aReader(revision), 'vms', [resource]))).toEqual(wanted);
  });

  test('is not read where the account may not read the revision: nothing is known of the cluster', async () => {
    await expect(readSourceResources(aReader(403), 'vms', [STORED])).rejects.toMatchObject({ code: 403 });
  });
});

test.each([LIVE_KIND.instancetype, LIVE_KIND.clusterInstancetype, LIVE_KIND.clusterPreference])(
  'the target has its own $kind',
  async (kind) => {
    const found = await readResources(aReader(403), 'target', [{ ...STORED, ...kind }]);
    expect(found).toMatchObject([kind]);
    expect(sizes(found)).toEqual([4]);
  },
);
