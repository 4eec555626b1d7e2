import http from 'node:http';

/** What etcd stores, by key; both base64, as its JSON gateway has them. */
export type Stored = ReadonlyMap<string, string>;

interface RangeAnswer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** All that the API server stores: its prefix, and the first key behind it. */
const ALL = { key: base64('/registry/'), range_end: base64('/registry0') };
/** Of one transaction (etcd's --max-txn-ops). */
const MAX_OPERATIONS = 128;

/**
 * The control plane's own, which changes all the time and which it would miss: identities, counters, the accounts that
 * its controllers are.
 */
const OWN = [
  /^\/registry\/(leases|peerserverleases|masterleases|ranges|apiregistration\.k8s\.io)\//,
  /^\/registry\/(flowschemas|prioritylevelconfigurations)\//,
  /^\/registry\/[^/]+\/kube-(system|public|node-lease)\//,
];

/** Reads everything that is stored but the control plane's own. `socket`: the path of etcd's. */
export async function readStored(socket: string): Promise<Stored> {
  const { kvs = [] } = (await call(socket, 'range', ALL)) as RangeAnswer;
  return new Map(kvs.filter(({ key }) => !isOwn(key)).map(({ key, value = '' }) => [key, value]));
}

/**
 * Stores what was stored then and nothing else, behind the API server's back: no finalizer, webhook or policy has a say.
 * Its caches and the controllers hear of each change as of any other. Resolves to the names of the kinds that changed.
 */
export async function restoreStored(socket: string, wanted: Stored): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  // A controller may answer one deletion with a write: again, until nothing is left to do.
  for (;;) {
    const now = await readStored(socket);
    const operations = operationsFrom(now, wanted);
    if (operations.length === 0) return changed;
    for (const { key } of operations) changed.add(kindOf(key));
    for (let first = 0; first < operations.length; first += MAX_OPERATIONS) {
      const success = operations.slice(first, first + MAX_OPERATIONS).map(({ operation }) => operation);
      await call(socket, 'txn', { success });
    }
  }
}

interface Operation {
  readonly key: string;
  readonly operation: object;
}

/** Namespaces first: nothing may be created in them any more. */
function operationsFrom(now: Stored, wanted: Stored): Operation[] {
  const gone = [...now.keys()].filter((key) => !wanted.has(key));
  const missing = [...wanted].filter(([key, value]) => now.get(key) !== value);
  const operations = [
    ...gone.map((key) => ({ key, operation: { request_delete_range: { key } } })),
    ...missing.map(([key, value]) => ({ key, operation: { request_put: { key, value } } })),
  ];
  return operations.toSorted((one, other) => rank(one) - rank(other));
}

const rank = ({ key }: Operation): number => (kindOf(key) === 'namespaces' ? 0 : 1);

const textOf = (key: string): string => Buffer.from(key, 'base64').toString('utf8');
const isOwn = (key: string): boolean => OWN.some((pattern) => pattern.test(textOf(key)));
/** "namespaces" of /registry/namespaces/x. */
const kindOf = (key: string): string => textOf(key).split('/')[2] ?? '';

/** Rejects with what etcd says. (etcd.io/docs/v3.6/dev-guide/api_grpc_gateway) */
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
