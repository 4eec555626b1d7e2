import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleOf } from '../../support/kubevirt/pair.ts';
import { startTwoKubeVirts, type TwoKubeVirts } from '../../support/kubevirt/two-kubevirts.ts';
import { runWith, type RunPlugin } from '../../support/environment/plugin.ts';

let clusters: TwoKubeVirts;
let folder: string;
let plugin: RunPlugin;

beforeAll(async () => {
  clusters = await startTwoKubeVirts();
  folder = await mkdtemp(join(tmpdir(), 'mtq-trust-'));
  const path = join(folder, 'kubeconfig');
  await writeFile(path, JSON.stringify(await bothContexts()));
  plugin = runWith(path);
});

afterAll(async () => {
  await rm(folder, { recursive: true });
  await clusters.stop();
});

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: object }[];
  readonly users: readonly { readonly user: object }[];
}

/** The admin's kubeconfig: context `west` is the source, `east` the target. */
async function bothContexts(): Promise<object> {
  const sides = [
    ['west', clusters.members.source],
    ['east', clusters.members.target],
  ] as const;
  const parts = await Promise.all(
    sides.map(async ([name, { controlPlane }]) => {
      const text = await readFile(controlPlane.adminKubeconfig, 'utf8');
      const { clusters: ofAdmin, users } = JSON.parse(text) as Kubeconfig;
      return { name, cluster: ofAdmin[0]?.cluster, user: users[0]?.user };
    }),
  );
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'west' },
    clusters: parts.map(({ name, cluster }) => ({ name, cluster })),
    users: parts.map(({ name, user }) => ({ name, user })),
    contexts: parts.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  };
}

test('each KubeVirt gets the certificates of the other, once', async () => {
  await clusters.within('trust', async ({ source, target }) => {
    const own = { west: await bundleOf(source), east: await bundleOf(target) };
    const declined = await plugin('trust', 'east');
    expect([declined.code, declined.stderr]).toEqual([
      2,
      'error: there is no terminal to ask on: use --yes\n',
    ]);
    expect(declined.stdout).toContain('this cluster does not trust east: certificate ');
    expect(await bundleOf(target)).toBe(own.east);

    const { code, stdout, stderr } = await plugin('trust', 'east', '--yes');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').at(-2)).toBe('this cluster and east trust each other');
    for (const bundle of [await bundleOf(source), await bundleOf(target)]) {
      for (const each of Object.values(own)) expect(bundle).toContain(each.trim());
    }

    // In the other direction too there is nothing left to do.
    const again = await plugin('trust', '--context', 'east', 'west');
    expect(again).toEqual({ code: 0, stdout: 'this cluster and west trust each other\n', stderr: '' });
  });
});

test.each([
  ['nowhere', 'error: the kubeconfig has no context nowhere\n'],
  ['west', 'error: west is this cluster: within one cluster nothing is needed\n'],
])('context %s is an error', async (context, message) => {
  expect(await plugin('trust', context, '--yes')).toEqual({ code: 2, stdout: '', stderr: message });
});
