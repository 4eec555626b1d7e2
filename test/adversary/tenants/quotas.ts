import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { JSON_PATCH, MERGE_PATCH, nth, pointer, type Attack, type Attempt } from './attack.ts';
import type { ObservedState } from './sight.ts';

type Tried = (observed: ObservedState, quota: ResourceQuota) => Attempt;

const pathOf = ({ namespace }: ObservedState, name = ''): string =>
  `/api/v1/namespaces/${namespace}/resourcequotas${name === '' ? '' : `/${name}`}`;

/** Changes a quota only while it is raised: the patch has a test operation. */
const whereRaised =
  (shape: string, ...operations: readonly object[]): Tried =>
  (observed, { metadata }) => ({
    shape: `quota: ${shape}, while raised`,
    method: 'PATCH',
    path: pathOf(observed, metadata.name),
    contentType: JSON_PATCH,
    body: [{ op: 'test', path: `/metadata/labels/${pointer(LABEL.raised)}`, value: 'true' }, ...operations],
    never: true,
  });

const off = (map: 'labels' | 'annotations', key: string): object => ({
  op: 'remove',
  path: `/metadata/${map}/${pointer(key)}`,
});
const on = (key: string, value: string): object => ({
  op: 'add',
  path: `/metadata/annotations/${pointer(key)}`,
  value,
});

const fenced: Tried = (observed, quota) =>
  whereRaised('the fence of this very lock', on(ANNOTATION.lastRelease, observed.token))(observed, quota);

const TRIED: readonly Tried[] = [
  whereRaised('the record taken off', off('annotations', ANNOTATION.grant)),
  whereRaised('the record garbled', on(ANNOTATION.grant, '{')),
  whereRaised('the label taken off', off('labels', LABEL.raised)),
  whereRaised('more migrations', on(ANNOTATION.migrations, '*')),
  fenced,
];

/** Changes of a raised quota that the policies must refuse. Its owner may edit its spec, and delete it. */
export const writeRaisedQuotas: Attack = {
  name: 'raised quotas',
  clients: 1,
  pauseMs: 30,
  next: (observed, n) => observed.quotas.map((quota) => nth(TRIED, n)(observed, quota)),
};

const metadataMerge =
  (shape: string, metadata: (observed: ObservedState, quota: ResourceQuota) => object): Tried =>
  (observed, quota) => ({
    shape: `quota: ${shape}`,
    method: 'PATCH',
    path: pathOf(observed, quota.metadata.name),
    contentType: MERGE_PATCH,
    body: { metadata: metadata(observed, quota) },
  });

/** A readable grant that raises nothing. */
function forgedGrant({ token }: ObservedState, { metadata, spec }: ResourceQuota): string {
  const { hard = {} } = spec;
  const { name, uid } = metadata;
  const raisedAt = new Date().toISOString();
  return JSON.stringify({
    v: 1,
    token,
    raisedAt,
    expiresAt: raisedAt,
    raises: 1,
    raised: hard,
    target: hard,
    quotas: [{ name, uid }],
    vmmrqs: [],
  });
}

const ENTITLED: readonly Tried[] = [
  metadataMerge('as if raised', () => ({ labels: { [LABEL.raised]: 'true' } })),
  metadataMerge('as if granted', (observed, quota) => ({
    labels: { [LABEL.raised]: 'true' },
    annotations: { [ANNOTATION.grant]: forgedGrant(observed, quota) },
  })),
  metadataMerge('as if granted, garbled', () => ({ annotations: { [ANNOTATION.grant]: 'garbled' } })),
  metadataMerge('as if released by this lock', ({ token }) => ({
    annotations: { [ANNOTATION.lastRelease]: token },
  })),
];

/** Forges our annotations and labels on its own quotas. Where its rights allow that, it harms only itself. */
export const markQuotas: Attack = {
  name: 'marks',
  clients: 1,
  pauseMs: 1_000,
  next: (observed, n) => observed.quotas.map((quota) => nth(ENTITLED, n)(observed, quota)),
};

/** Deletes its own quota and creates it again with the same amounts. */
export const recreateQuotas: Attack = {
  name: 'recreate',
  clients: 1,
  pauseMs: 2_000,
  next: (observed, n) => {
    if (n % 2 === 0) {
      const { metadata } = observed.quotas.find((quota) => quota.metadata.name === COUNTED) ?? {};
      if (metadata === undefined) return [];
      return [{ shape: 'quota: deleted', method: 'DELETE', path: pathOf(observed, metadata.name) }];
    }
    const { namespace } = observed;
    const body = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: COUNTED, namespace },
      spec: { hard: COUNTED_HARD },
    };
    return [{ shape: 'quota: made again', method: 'POST', path: pathOf(observed), body }];
  },
};

/** The quota that a tenant deletes and creates again; the other quota stays. */
export const COUNTED = 'counted';
export const COUNTED_HARD = { pods: '2' };
