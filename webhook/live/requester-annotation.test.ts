import { expect, test } from '@jest/globals';
import type { Change } from '../../test/support/builders/object.ts';
import { annotated } from '../../test/support/builders/object.ts';
import { aPlanMigration, aStorageMap } from '../../test/support/builders/live.ts';
import type { PlanMigration, StorageMap } from '../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { AdmissionRequest, Decision } from '../admission/admission.ts';
import { reviewForklift } from './forklift-review.ts';

const TINA = { user: 'tina', groups: ['viewers'] };
const STORED = '{"user":"sam","groups":[]}';
const FORGED = '{"user":"root","groups":["system:masters"]}';

const by = (requester: string): Change<StorageMap> => annotated(LIVE_ANNOTATION.requester, requester);
const unwritten: Change<StorageMap> = ({ metadata: { annotations: _, ...metadata }, ...map }) => ({
  ...map,
  metadata,
});
const changed: Change<StorageMap> = (map) => ({ ...map, spec: { ...map.spec, map: [] } });
const inOtherOrder: Change<StorageMap> = ({ spec: { provider, map }, ...one }) => ({
  ...one,
  spec: { map, provider },
});

/** The decision on a write by tina; `before`: what is stored, undefined for a new map. */
const decide = (
  after: KubernetesObject,
  before?: KubernetesObject,
  resource = 'storagemaps',
): Promise<Decision> =>
  reviewForklift(
    {
      ...{ uid: 'u', dryRun: false, operation: before === undefined ? 'CREATE' : 'UPDATE' },
      ...{ object: after, oldObject: before ?? null, namespace: 'tenant' },
      resource: { group: 'forklift.konveyor.io', version: 'v1beta1', resource },
      userInfo: { username: TINA.user, groups: TINA.groups },
    } as unknown as AdmissionRequest,
    {
      cluster: {
        get: () => Promise.reject(new Error('read')),
        create: () => Promise.reject(new Error('asked')),
      },
      allowLoopback: false,
    },
  );

const PATH = '/metadata/annotations/live.mtq.kubevirt.io~1requester';
const written = [{ op: 'add', path: PATH, value: JSON.stringify(TINA) }];

test.each<[string, StorageMap, StorageMap | undefined, object[] | undefined]>([
  ['a new one, forged', aStorageMap(by(FORGED)), undefined, written],
  [
    'a new one without annotations',
    aStorageMap(unwritten),
    undefined,
    [
      {
        op: 'add',
        path: '/metadata/annotations',
        value: { [LIVE_ANNOTATION.requester]: JSON.stringify(TINA) },
      },
    ],
  ],
  ['another spec', aStorageMap(by(STORED), changed), aStorageMap(by(STORED)), written],
  ['another spec, forged', aStorageMap(by(FORGED), changed), aStorageMap(by(STORED)), written],
  [
    'the same spec in another order',
    aStorageMap(by(STORED), inOtherOrder),
    aStorageMap(by(STORED)),
    undefined,
  ],
  [
    'the same spec, forged',
    aStorageMap(by(FORGED)),
    aStorageMap(by(STORED)),
    [{ op: 'add', path: PATH, value: STORED }],
  ],
  [
    'the same spec, without the annotation',
    aStorageMap(unwritten),
    aStorageMap(by(STORED)),
    [{ op: 'add', path: '/metadata/annotations', value: { [LIVE_ANNOTATION.requester]: STORED } }],
  ],
  [
    'the same spec of an object that had no requester, forged',
    aStorageMap(by(FORGED)),
    aStorageMap(unwritten),
    [{ op: 'remove', path: PATH }],
  ],
])('who writes the spec of a map is its requester: %s', async (_what, ...[after, before, patch]) => {
  expect(await decide(after, before)).toEqual({ allowed: true, ...(patch && { patch }) });
});

test.each(['plans', 'storagemaps', 'networkmaps', 'hooks', 'providers'])(
  'an update of %s that keeps the spec asks and reads nothing, and keeps the requester',
  async (resource) => {
    const decision = await decide(aStorageMap(by(FORGED)), aStorageMap(by(STORED)), resource);
    expect(decision).toEqual({ allowed: true, patch: [{ op: 'add', path: PATH, value: STORED }] });
  },
);

test('who writes a hook is its requester: it says what a pod runs', async () => {
  expect(await decide(aStorageMap(by(FORGED)), undefined, 'hooks')).toEqual({
    allowed: true,
    patch: written,
  });
});

const CLUSTERS = '/metadata/annotations/live.mtq.kubevirt.io~1clusters';
const REAL = 'one two uid-of-source uid-of-destination';
const FORGED_CLUSTERS = 'one prod uid-of-source uid-of-prod';
const withClusters = (clusters: string): Change<PlanMigration> =>
  annotated(LIVE_ANNOTATION.clusters, clusters);
const TINA_WROTE: Change<PlanMigration> = annotated(LIVE_ANNOTATION.requester, STORED);

test.each<[string, PlanMigration, PlanMigration, object[] | undefined]>([
  [
    'forged',
    aPlanMigration(TINA_WROTE, withClusters(FORGED_CLUSTERS)),
    aPlanMigration(TINA_WROTE, withClusters(REAL)),
    [{ op: 'add', path: CLUSTERS, value: REAL }],
  ],
  [
    'forged before its run has begun',
    aPlanMigration(TINA_WROTE, withClusters(FORGED_CLUSTERS)),
    aPlanMigration(TINA_WROTE),
    [{ op: 'remove', path: CLUSTERS }],
  ],
  [
    'removed',
    aPlanMigration(TINA_WROTE),
    aPlanMigration(TINA_WROTE, withClusters(REAL)),
    [{ op: 'add', path: CLUSTERS, value: REAL }],
  ],
  [
    'kept',
    aPlanMigration(TINA_WROTE, withClusters(REAL)),
    aPlanMigration(TINA_WROTE, withClusters(REAL)),
    undefined,
  ],
])('a Migration keeps the clusters of its run: %s', async (_what, after, before, patch) => {
  const decision = await decide(after, before, 'migrations');
  expect(decision).toEqual({ allowed: true, ...(patch && { patch }) });
});
