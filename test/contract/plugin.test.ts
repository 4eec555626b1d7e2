import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { snapshotRights } from '../../kubectl/cluster/namespace.ts';
import type { Right } from '../../kubectl/cluster/rights.ts';
import { STATE_RIGHTS } from '../../kubectl/cluster/state.ts';
import { rightsFor } from '../../kubectl/preflight/read.ts';
import { SUBCOMMANDS } from '../../kubectl/program.ts';
import { MIGRATIONS, NODES } from '../../functions/kubernetes/resources.ts';
import { PLANS } from '../../functions/kubernetes/live-resources.ts';
import { MAINTENANCE_RIGHTS } from '../../kubectl/progress/maintenance.ts';
import { planRights } from '../../kubectl/progress/plan.ts';
import { WATCH_RIGHTS } from '../../kubectl/status/watch.ts';
import { temporaryFolder } from '../cluster/controlplane/exit.ts';
import { bindings, ofKind } from './rendered.ts';

const ROLE = 'managed-tenant-quota-plugin-view';

/** The built bundle. */
const PLUGIN = fileURLToPath(new URL('../../dist/kubectl/kubectl-vmmrq', import.meta.url));

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
    ...MAINTENANCE_RIGHTS,
    ...planRights(),
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

test.each(SUBCOMMANDS.map(({ declare }) => declare().name()))('the help of %s has examples', (name) => {
  const command = SUBCOMMANDS.map(({ declare }) => declare()).find((each) => each.name() === name);
  const help: string[] = [];
  command?.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp();
  expect(help.join('')).toContain(`Examples:\n  kubectl vmmrq ${name}`);
});

test('an answer that nobody reads to its end is none: the exit code says so', async () => {
  const child = spawn(process.execPath, [PLUGIN, '--help'], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.destroy();
  expect(await once(child, 'exit')).toEqual([2, null]);
});

test('a completion ends although the API server is silent', async () => {
  const silent = net.createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const sockets = new Set<net.Socket>();
  silent.on('connection', (socket) => sockets.add(socket));
  const folder = temporaryFolder('mtq-silent-');
  const server = `https://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
  const kubeconfig = join(folder.path, 'kubeconfig');
  const config = {
    clusters: [{ name: 'one', cluster: { server } }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
    users: [{ name: 'one', user: {} }],
    'current-context': 'one',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const words = ['__complete', '--kubeconfig', kubeconfig, 'explain', ''];
  const child = spawn(process.execPath, [PLUGIN, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
  expect(await text(child.stdout)).toBe(':1\n');
  for (const socket of sockets) socket.destroy();
  silent.close();
  folder.remove();
});
