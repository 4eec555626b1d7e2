import { expect, test } from '@jest/globals';
import { snapshotRights } from '../../kubectl/cluster/namespace.ts';
import type { Right } from '../../kubectl/cluster/rights.ts';
import { STATE_RIGHTS } from '../../kubectl/cluster/state.ts';
import { rightsFor } from '../../kubectl/preflight/read.ts';
import { MIGRATIONS, NODES } from '../../functions/kubernetes/resources.ts';
import { PLANS } from '../../functions/kubernetes/live-resources.ts';
import { PROGRESS_RIGHTS } from '../../kubectl/progress/progress.ts';
import { WATCH_RIGHTS } from '../../kubectl/status/watch.ts';
import { bindings, ofKind } from './rendered.ts';

const ROLE = 'managed-tenant-quota-plugin-view';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const textOf = ({ verb, type: { apiVersion, plural } }: Right): string =>
  `${verb} ${plural} of ${apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : 'core'}`;

test('the role of the plugin’s viewers grants what it asks for, and nothing else; no binding grants it', () => {
  const rules = ofKind('ClusterRole').find(({ metadata }) => metadata.name === ROLE)?.rules as Rule[];
  const granted = rules.flatMap(({ apiGroups: [group = ''], resources, verbs }) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => `${verb} ${resource} of ${group === '' ? 'core' : group}`),
    ),
  );
  const wanted = [
    ...STATE_RIGHTS,
    ...snapshotRights(),
    ...WATCH_RIGHTS,
    ...PROGRESS_RIGHTS,
    ...rightsFor({ kind: 'node', nodes: [] }),
    { verb: 'get', type: MIGRATIONS } as const,
    { verb: 'get', type: PLANS } as const,
    // For completion.
    { verb: 'list', type: PLANS } as const,
    { verb: 'list', type: NODES } as const,
  ].map(textOf);
  expect(granted.toSorted()).toEqual([...new Set(wanted)].toSorted());
  expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain(ROLE);
});
