import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { MAINTENANCE_EVENT } from '../../functions/domain/progress/names.ts';
import { DRAINED, WORKED } from '../../examples/rolling/events.ts';
import { render } from '../cluster/controlplane/kustomize.ts';
import { knativeObjects } from '../cluster/eventing/manifests.ts';
import { knativeProblems } from './knative-rules.ts';
import { ofKind, type Manifest } from './rendered.ts';

const FOLDERS = ['notifier', 'rolling'] as const;
const rendered = Object.fromEntries(
  await Promise.all(
    FOLDERS.map(async (folder) => [folder, (await render(`examples/${folder}`)) as Manifest[]] as const),
  ),
) as Record<(typeof FOLDERS)[number], Manifest[]>;

describe.each(FOLDERS)('examples/%s', (folder) => {
  test('has no problem that Knative would report', () => {
    expect(knativeProblems([...ofKind('Broker'), ...rendered[folder]])).toEqual([]);
  });

  test('is in the namespace of the Broker, and every Service has an account of its own', () => {
    const namespaces = rendered[folder].flatMap(({ kind = '', metadata }) =>
      kind.startsWith('ClusterRole') ? [] : [metadata.namespace],
    );
    expect(new Set(namespaces)).toEqual(new Set(['mtq-system']));
    const accounts = rendered[folder].flatMap(({ kind, metadata }) =>
      kind === 'ServiceAccount' ? [metadata.name] : [],
    );
    const used = knativeObjects(rendered[folder]).services.map(
      ({ spec }) => spec.template.spec.serviceAccountName,
    );
    expect(used.toSorted()).toEqual(accounts.toSorted());
  });

  test('starts files that exist, and its Triggers name events that exist', () => {
    const text = JSON.stringify(rendered[folder]);
    const files = [...text.matchAll(/"args":\["([^"]+)"\]/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(readFileSync(file, 'utf8')).toContain('serve(');
    const types = [...text.matchAll(/"type":"((?:io\.kubevirt|example)\.[^"]+)"/g)].map(
      ([, type = '']) => type,
    );
    const known: string[] = [...Object.values(MAINTENANCE_EVENT), DRAINED, WORKED];
    expect(types.filter((type) => !known.includes(type))).toEqual([]);
  });
});

test('the rolling maintenance may change exactly the nodes of its list, and nothing else', () => {
  const role = rendered.rolling.find(({ kind }) => kind === 'ClusterRole');
  const writes = role?.rules?.filter(({ verbs }) => !verbs.every((verb) => ['get', 'list'].includes(verb)));
  const [rolling] = knativeObjects(rendered.rolling).services;
  const { env = [] } = rolling?.spec.template.spec.containers[0] ?? {};
  const nodes = env.find(({ name }) => name === 'NODES')?.value?.split(',');
  expect(writes).toEqual([
    { apiGroups: [''], resources: ['nodes'], resourceNames: nodes, verbs: ['get', 'patch'] },
  ]);
  expect(JSON.stringify(rendered.notifier)).not.toContain('ClusterRole');
});

test('their image has the pinned libraries of this repository', () => {
  const read = (file: string): { dependencies: Record<string, string> } =>
    JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> };
  const { dependencies } = read('package.json');
  for (const [name, version] of Object.entries(read('examples/package.json').dependencies))
    expect([name, version]).toEqual([name, dependencies[name]]);
});
