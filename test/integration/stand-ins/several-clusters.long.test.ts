import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { clusterIdOf, startClusters, type SeveralClusters } from '../../cluster/several-clusters.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';

let clusters: SeveralClusters<'source' | 'target' | 'hub'>;

beforeAll(async () => {
  clusters = await startClusters(['source', 'target', 'hub'], freshControlPlane);
});

afterAll(async () => {
  await clusters.stop();
});

const namesIn = async (cluster: Cluster): Promise<string[]> =>
  (await cluster.list(NAMESPACES, {})).items.map(({ metadata }) => metadata.name);

test('each has an id of its own, which every client of it sees', async () => {
  const { source, target, hub } = clusters.members;
  expect(new Set([source.id, target.id, hub.id]).size).toBe(3);
  expect(await clusterIdOf(connect(target.controlPlane.adminKubeconfig))).toBe(target.id);
});

test('what is created in one is not in the others', async () => {
  const { source, target, hub } = clusters.members;
  await source.admin.create(NAMESPACES, { metadata: { name: 'only-here' } });
  expect(await namesIn(source.admin)).toContain('only-here');
  expect(await namesIn(target.admin)).not.toContain('only-here');
  expect(await namesIn(hub.admin)).not.toContain('only-here');
});

test('a token of one is unknown to the others', async () => {
  const { source, target } = clusters.members;
  const tokenOf = (kubeconfig: string): string =>
    (JSON.parse(kubeconfig) as { users: [{ user: { token: string } }] }).users[0].user.token;
  const [ours, theirs] = [source, target].map(({ controlPlane }) =>
    readFileSync(controlPlane.adminKubeconfig, 'utf8'),
  );
  const mixed = `${target.controlPlane.adminKubeconfig}.mixed`;
  writeFileSync(mixed, (theirs ?? '').replace(tokenOf(theirs ?? ''), tokenOf(ours ?? '')), { mode: 0o600 });
  const answer = await connect(mixed)
    .list(NAMESPACES, {})
    .catch((error: unknown) => error);
  expect(answer).toBeInstanceOf(ApiError);
  expect(answer).toMatchObject({ code: 401 });
});
