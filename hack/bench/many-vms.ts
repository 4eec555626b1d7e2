import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { newServingCertificate } from '../../test/cluster/serving-certificate.ts';

/** A server of an API server's lists, for measurements of what reads them. */
export interface ManyVms {
  readonly kubeconfig: string;
  /** Bytes sent since the start. */
  readonly sent: () => number;
  stop(): Promise<void>;
}

export interface ManyVmsOptions {
  readonly vms: number;
  readonly nodes: number;
  readonly namespaces: number;
}

type Json = Record<string, unknown>;

/** Real objects, as KubeVirt and an API server wrote them (test/recorded/README.md). */
const RECORDED = new URL('../../test/recorded/', import.meta.url);

function recordedPod(): Json {
  const { body } = JSON.parse(readFileSync(new URL('adapter-pod-add-target.json', RECORDED), 'utf8')) as {
    body: Json;
  };
  return body;
}

function recordedVmi(): Json {
  const lines = readFileSync(new URL('upgrade-workload-update.jsonl', RECORDED), 'utf8').trim().split('\n');
  const vmis = lines.map((line) => JSON.parse(line) as { object?: Json & { status?: { phase?: string } } });
  const running = vmis.find(
    ({ object }) => object?.['kind'] === 'VirtualMachineInstance' && object.status?.phase === 'Running',
  );
  if (running?.object === undefined) throw new Error('no running VMI is recorded');
  return running.object;
}

/** The lists by path, as texts: the server does not work while the plugin is measured, but for slices of them. */
function listsOf({ vms, nodes, namespaces }: ManyVmsOptions): Map<string, string[]> {
  const pod = recordedPod();
  const vmi = recordedVmi();
  const range = Array.from({ length: vms }, (_, index) => index);
  const at = (index: number): { namespace: string; name: string; node: string } => ({
    namespace: `tenant-${String(index % namespaces)}`,
    name: `vm-${String(index)}`,
    node: `node-${String(index % nodes)}`,
  });
  return new Map([
    ['/apis/kubevirt.io/v1/virtualmachineinstances', range.map((index) => vmiText(vmi, pod, at(index)))],
    ['/api/v1/pods', range.map((index) => podText(pod, at(index)))],
    ['/apis/kubevirt.io/v1/virtualmachineinstancemigrations', range.map((index) => endedText(at(index)))],
    ['/api/v1/namespaces', tenantsOf(namespaces).map(namespaceText)],
    ['/api/v1/resourcequotas', tenantsOf(namespaces).map((name) => quotaText(name, vms / namespaces))],
    ['/apis/kubevirt.io/v1/kubevirts', [JSON.stringify(KUBEVIRT)]],
  ]);
}

interface At {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
}

const tenantsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `tenant-${String(index)}`);

const metadataOf = (whole: Json, { namespace, name }: At): Json => ({
  ...(whole['metadata'] as Json),
  namespace,
  name,
  uid: `uid-of-${name}`,
});

/** The text of a VMI with as many managed fields as the pod: the recording of VMIs omits them. */
function vmiText(vmi: Json, pod: Json, at: At): string {
  const { managedFields } = pod['metadata'] as Json;
  const metadata = { ...metadataOf(vmi, at), managedFields };
  const spec = { ...(vmi['spec'] as Json), evictionStrategy: 'LiveMigrate' };
  const conditions = [{ type: 'LiveMigratable', status: 'True' }];
  const status = { ...(vmi['status'] as Json), phase: 'Running', nodeName: at.node, conditions };
  return JSON.stringify({ ...vmi, metadata, spec, status });
}

function podText(pod: Json, at: At): string {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', controller: true };
  const labels = { 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': `uid-of-${at.name}` };
  const metadata = {
    ...metadataOf(pod, { ...at, name: `virt-launcher-${at.name}` }),
    labels,
    ownerReferences: [{ ...owner, name: at.name, uid: `uid-of-${at.name}` }],
  };
  const spec = { ...(pod['spec'] as Json), nodeName: at.node };
  return JSON.stringify({ ...pod, metadata, spec, status: { ...(pod['status'] as Json), phase: 'Running' } });
}

/** KubeVirt keeps up to five ended migrations of each VM. */
const endedText = ({ namespace, name }: At): string =>
  JSON.stringify({
    metadata: { namespace, name: `ended-${name}`, uid: `uid-of-ended-${name}`, resourceVersion: '1' },
    spec: { vmiName: name },
    status: { phase: 'Succeeded', migrationState: { filler: 'x'.repeat(1_500) } },
  });

const namespaceText = (name: string): string =>
  JSON.stringify({
    metadata: { name, uid: `uid-of-${name}`, labels: { 'kubernetes.io/metadata.name': name } },
  });

/** The text of a quota that is nearly full: it has headroom for one more small launcher, so that the answers differ. */
function quotaText(namespace: string, vms: number): string {
  const hard = { 'requests.memory': `${String(vms * 2_048 + 1_500)}Mi`, pods: String(vms + 2) };
  const used = { 'requests.memory': `${String(vms * 2_048)}Mi`, pods: String(vms) };
  const metadata = { namespace, name: 'compute', uid: `uid-of-quota-of-${namespace}`, resourceVersion: '1' };
  return JSON.stringify({ metadata, spec: { hard }, status: { hard, used } });
}

const KUBEVIRT = {
  metadata: { namespace: 'kubevirt', name: 'kubevirt', uid: 'uid-of-kubevirt', resourceVersion: '1' },
  spec: { workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] } },
  status: { observedKubeVirtVersion: 'v1.9.0' },
};

/** Serves the lists on a free port of this machine. */
export async function serveManyVms(options: ManyVmsOptions): Promise<ManyVms> {
  const lists = listsOf(options);
  const { serving, ca } = newServingCertificate();
  let sent = 0;
  const server = createServer(serving, (request, response) => {
    const body = answerTo(request, lists);
    sent += body.length;
    request.resume();
    response
      .writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
      .end(body);
  });
  // Node's default closes a connection that an API server would keep.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    kubeconfig: kubeconfigFor(port, ca),
    sent: () => sent,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const kubeconfigFor = (port: number, ca: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'many',
        cluster: {
          server: `https://localhost:${String(port)}`,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'admin', user: { token: 'none' } }],
    contexts: [{ name: 'many', context: { cluster: 'many', user: 'admin' } }],
    'current-context': 'many',
  });

/** A review of rights, a page of a list, or one object. */
function answerTo(
  { method, url = '' }: IncomingMessage,
  lists: ReadonlyMap<string, readonly string[]>,
): Buffer {
  if (method === 'POST') return Buffer.from(JSON.stringify({ metadata: {}, status: { allowed: true } }));
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const one = /^\/api\/v1\/(?:nodes|namespaces)\/([^/]+)$/.exec(pathname);
  if (one !== null) return Buffer.from(namespaceText(one[1] ?? ''));
  const all = selected(lists.get(pathname) ?? [], searchParams);
  const from = Number(searchParams.get('continue') ?? 0);
  const limit = Number(searchParams.get('limit') ?? all.length);
  const next = from + limit < all.length ? { continue: String(from + limit) } : {};
  const metadata = JSON.stringify({ resourceVersion: '1', ...next });
  return Buffer.from(`{"metadata":${metadata},"items":[${all.slice(from, from + limit).join(',')}]}`);
}

/** VMs by their node, as preflight asks for them; none is outdated. */
function selected(texts: readonly string[], query: URLSearchParams): readonly string[] {
  const selector = query.get('labelSelector') ?? '';
  if (selector === 'kubevirt.io/outdatedLauncherImage') return [];
  const [, nodes] = /^kubevirt\.io\/nodeName in \((.*)\)$/.exec(selector) ?? [];
  if (nodes === undefined) return texts;
  const wanted = nodes.split(',').map((node) => `"nodeName":"${node}"`);
  return texts.filter((text) => wanted.some((each) => text.includes(each)));
}
