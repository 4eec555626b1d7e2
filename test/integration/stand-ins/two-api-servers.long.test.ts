import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { startControlPlane, type ControlPlane } from '../../cluster/controlplane/start.ts';
import { askUntil } from '../../support/eventually.ts';

const LAG_MS = 400;

let controlPlane: ControlPlane;
let first: Cluster;
let second: Cluster;

beforeAll(async () => {
  controlPlane = await startControlPlane({ apiServers: 2 });
  const { adminKubeconfig } = controlPlane;
  const [one, other] = controlPlane.apiServers.map((server) =>
    connect(controlPlane.kubeconfigAt(server, adminKubeconfig)),
  );
  if (one === undefined || other === undefined) throw new Error('there are not two');
  [first, second] = [one, other];
});

afterAll(async () => {
  await controlPlane.stop();
});

test('two API servers share etcd and users, and write one audit log each', async () => {
  await second.create(NAMESPACES, { metadata: { name: 'by-the-second' } });
  const { object } = await first.get(NAMESPACES, { name: 'by-the-second' });
  expect(object.metadata.name).toBe('by-the-second');
  const [ofFirst = '', ofSecond = ''] = controlPlane.apiServers.map(({ auditLog }) => auditLog);
  const creates = '"verb":"create","user":{"username":"admin"';
  await askUntil(
    'the second one has logged it',
    () => Promise.resolve(readFileSync(ofSecond, 'utf8')),
    (log) => log.includes(creates),
  );
  expect(readFileSync(ofFirst, 'utf8')).not.toContain(creates);
});

test('the second API server sees namespaces late, and everything else at once', async () => {
  const namespaces = await second.list(NAMESPACES, {});
  const quotas = await second.list(RESOURCE_QUOTAS, {});
  controlPlane.lagNamespaces(LAG_MS);
  const over = new AbortController();
  const heard: string[] = [];
  const showProgress = async (type: ResourceType, from: string): Promise<void> => {
    const watch = second.watch(type, { resourceVersion: from }, over.signal);
    for await (const event of watch) {
      if (event.object.metadata.name !== 'late') continue;
      heard.push(type.kind);
      return;
    }
  };
  const watches = [
    showProgress(NAMESPACES, namespaces.resourceVersion),
    showProgress(RESOURCE_QUOTAS, quotas.resourceVersion),
  ];
  await first.create(NAMESPACES, { metadata: { name: 'late' } });
  const created = performance.now();
  await first.create(RESOURCE_QUOTAS, { metadata: { namespace: 'by-the-second', name: 'late' }, spec: {} });
  await Promise.all(watches);
  expect(heard).toEqual([RESOURCE_QUOTAS.kind, NAMESPACES.kind]);
  process.stdout.write(`heard of the namespace after ${Math.round(performance.now() - created)} ms\n`);
  over.abort();
});
