import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** The content of etcd by key; both base64, as in its JSON gateway. */
export type Stored = ReadonlyMap<string, string>;

interface RangeAnswer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** The API server's key range: its prefix, and the first key after it. */
const ALL = { key: base64('/registry/'), range_end: base64('/registry0') };
/** So many transactions wait for etcd at once. */
const AT_ONCE = 16;
const STABLE_MS = 200;
const WITHIN_MS = 30_000;

/**
 * The control plane's own keys, which it needs and which change often: identities, counters, the accounts of
 * its controllers.
 */
const OWN = [
  /^\/registry\/(leases|peerserverleases|masterleases|ranges|apiregistration\.k8s\.io)\//,
  /^\/registry\/(flowschemas|prioritylevelconfigurations)\//,
  // Without roles: the project's manifests have one in kube-system.
  /^\/registry\/(?!roles|rolebindings)[^/]+\/kube-(system|public|node-lease)\//,
];

/** Reads everything except the control plane's own keys. `socket`: the path of etcd's socket. */
async function readStored(socket: string): Promise<Stored> {
  const { kvs = [] } = (await call(socket, 'range', ALL)) as RangeAnswer;
  return new Map(kvs.filter(({ key }) => !isOwn(key)).map(({ key, value = '' }) => [key, value]));
}

/** Reads the content when it is stable: controllers still write for a moment after the API server is ready. */
export async function readStable(socket: string): Promise<Stored> {
  const until = performance.now() + WITHIN_MS;
  let before = await readStored(socket);
  while (performance.now() < until) {
    await delay(STABLE_MS);
    const now = await readStored(socket);
    if (operationsFrom(now, before).length === 0) return now;
    before = now;
  }
  throw new Error(`what etcd stores still changes after ${String(WITHIN_MS)} ms`);
}

/**
 * Restores exactly that content, directly in etcd: finalizers, webhooks and policies do not
 * apply. The API server's caches and the controllers see each change like any other, because each is a revision of its own: a watch that
 * ends among several changes of one revision goes on after it, and its controller keeps deleted pods for ever. Rejects where controllers
 * write for ever.
 */
export async function restoreStored(socket: string, wanted: Stored): Promise<void> {
  const until = performance.now() + WITHIN_MS;
  const change = ({ operation }: Operation): Promise<unknown> =>
    call(socket, 'txn', { success: [operation] });
  // A controller may react to a deletion with a write, so repeat until there is no difference.
  while (performance.now() < until) {
    const now = await readStored(socket);
    const operations = operationsFrom(now, wanted);
    if (operations.length === 0) return;
    for (const each of inOrder(operations))
      for (let first = 0; first < each.length; first += AT_ONCE)
        await Promise.all(each.slice(first, first + AT_ONCE).map(change));
  }
  throw new Error(`etcd is not as it was after ${String(WITHIN_MS)} ms`);
}

interface Operation {
  readonly key: string;
  readonly operation: object;
}

function operationsFrom(now: Stored, wanted: Stored): Operation[] {
  const gone = [...now.keys()].filter((key) => !wanted.has(key));
  const missing = [...wanted].filter(([key, value]) => now.get(key) !== value);
  return [
    ...gone.map((key) => ({ key, operation: { request_delete_range: { key } } })),
    ...missing.map(([key, value]) => ({ key, operation: { request_put: { key, value } } })),
  ];
}

/** Namespaces first, so that no object can be created in them. */
const inOrder = (operations: readonly Operation[]): Operation[][] =>
  [true, false].map((areNamespaces) =>
    operations.filter(({ key }) => (kindOf(key) === 'namespaces') === areNamespaces),
  );

const textOf = (key: string): string => Buffer.from(key, 'base64').toString('utf8');
const isOwn = (key: string): boolean => OWN.some((pattern) => pattern.test(textOf(key)));
/** "namespaces" of /registry/namespaces/x. */
const kindOf = (key: string): string => textOf(key).split('/')[2] ?? '';

/** Rejects with etcd's error. (etcd.io/docs/v3.6/dev-guide/api_grpc_gateway) */
function call(socketPath: string, what: 'range' | 'txn', body: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { socketPath, path: `/v3/kv/${what}`, method: 'POST', agent: false };
    const request = http.request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (answer.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`etcd answered ${String(answer.statusCode)}: ${text}`));
      });
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}
