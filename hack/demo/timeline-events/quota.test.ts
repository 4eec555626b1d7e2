import { expect, test } from '@jest/globals';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { ofQuota } from './quota.ts';

const GRANT = JSON.stringify({
  v: 1,
  token: 'one',
  raisedAt: '2026-01-01T00:00:00Z',
  raised: { 'requests.memory': '3221225472' },
});

function makeQuota(
  version: string,
  spec: ResourceList,
  more: { status?: ResourceList; held?: boolean },
): ResourceQuota {
  const held = { annotations: { [ANNOTATION.grant]: GRANT }, labels: { [LABEL.raised]: 'true' } };
  return {
    metadata: {
      name: 'compute',
      namespace: 'red',
      uid: 'u',
      resourceVersion: version,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(more.held === true ? held : {}),
    },
    spec: { hard: spec },
    status: { hard: more.status ?? spec },
  };
}

const ORIGINAL = { 'requests.memory': '2Gi', pods: '5' };
const RAISED = { ...ORIGINAL, 'requests.memory': '3Gi' };

/** All versions of a quota through a cycle. */
const VERSIONS: readonly [ResourceQuota, string | undefined][] = [
  [makeQuota('1', ORIGINAL, {}), undefined],
  [
    makeQuota('2', ORIGINAL, { status: RAISED, held: true }),
    'raised: raises compute: requests.memory 2Gi → 3Gi',
  ],
  [makeQuota('3', ORIGINAL, { held: true }), 'undone: recounts compute: requests.memory 3Gi → 2Gi'],
  [makeQuota('4', ORIGINAL, { status: RAISED, held: true }), undefined],
  [makeQuota('5', ORIGINAL, {}), 'lowered: restores compute: requests.memory 3Gi → 2Gi'],
  [makeQuota('6', ORIGINAL, {}), undefined],
];

test('each version of a quota through a cycle is one timeline event with the replaced version', () => {
  const events = VERSIONS.slice(1).flatMap(([after], index) =>
    ofQuota({ before: VERSIONS[index]?.[0], after }),
  );

  expect(events.map(({ what, text }) => `${what}: ${text}`)).toEqual(
    VERSIONS.flatMap(([, want]) => want ?? []),
  );
  expect(events.map(({ replaced }) => replaced?.resourceVersion)).toEqual(['1', '2', '4']);
});
