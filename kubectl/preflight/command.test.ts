import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aLauncher, aMigration, anAttachment, ofVm, onNode } from '../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { annotated, labelled, metadata, named, NOW } from '../../test/support/builders/object.ts';
import { exceeded, forbidden } from '../../test/support/builders/pod-rejection.ts';
import { aKubeVirt, aTenant, aVm, tight } from '../../test/support/builders/preflight.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, userOf, WEBHOOK } from '../../functions/domain/names.ts';
import { withRefusals } from '../../functions/domain/verdict/raise-refusal.ts';
import type { Pod, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { ApiServer, New, WriteOptions } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import {
  KUBEVIRTS,
  MIGRATIONS,
  NAMESPACES,
  NODES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../functions/kubernetes/resources.ts';
import { Terminal } from '../terminal/terminal.ts';
import { preflightSubcommand } from './command.ts';
import type { NamespaceFacts } from './facts.ts';

interface World {
  readonly tenant?: Partial<NamespaceFacts>;
  /** Rights that the user lacks, such as "create virtualmachinemigrationresourcequotas". */
  readonly denied?: readonly string[];
  /** A second namespace with the same objects. */
  readonly twin?: string;
  /** The kind whose writes by our accounts a policy refuses. */
  readonly refuses?: string;
  /** The API server's text on every pod that virt-controller would create. */
  readonly refusesPods?: string;
  /** The code of that refusal; left out: 403. */
  readonly podCode?: number;
  /** The API server's text on every VMMRQ that the user would create. */
  readonly refusesVmmrqs?: string;
  /** Gets the pods that are tried. */
  readonly tried?: New<Pod>[];
  /** Gets the users that preflight impersonates. */
  readonly users?: string[];
}

/** A tenant with two VMs on node1. */
function apiServer({ tenant = {}, denied = [], twin, refusesVmmrqs }: World): ApiServer {
  const facts = aTenant({
    namespace: labelled('kubernetes.io/metadata.name', 'tenant')(aNamespace()),
    ...tenant,
  });
  const stored = new WatchedCluster();
  const { namespace: _, ...node } = metadata('node1');
  stored.put(NODES, { metadata: node });
  stored.put(KUBEVIRTS, aKubeVirt());
  store(facts, stored);
  if (twin !== undefined) store(twinOf(facts, twin), stored);
  const reader = stored.asCluster();
  const create = (
    { kind }: { readonly kind: string },
    { spec }: ReviewOf,
    options: WriteOptions = {},
  ): Promise<object> => {
    if (kind !== 'SelfSubjectAccessReview') return dryRun(options, refusesVmmrqs);
    const { verb, resource } = spec.resourceAttributes;
    return Promise.resolve({ object: { status: { allowed: !denied.includes(`${verb} ${resource}`) } } });
  };
  const listAny: ApiServer['list'] = (type, { labelSelector, ...where }) =>
    // The stub knows no selectors of sets, and all objects match them.
    reader.list(type, labelSelector?.includes(' in ') === false ? { ...where, labelSelector } : where);
  return { ...reader, list: listAny, create } as unknown as ApiServer;
}

function store(
  { namespace, quotas, vmmrqs, pods, vmis, migrations }: NamespaceFacts,
  stored: WatchedCluster,
): void {
  stored.put(NAMESPACES, namespace);
  for (const quota of quotas) stored.put(RESOURCE_QUOTAS, quota);
  for (const vmmrq of vmmrqs) stored.put(VMMRQS, vmmrq);
  for (const pod of pods) stored.put(PODS, pod);
  for (const vmi of vmis) stored.put(VMIS, vmi);
  for (const migration of migrations) stored.put(MIGRATIONS, migration);
}

const twinOf = (facts: NamespaceFacts, name: string): NamespaceFacts =>
  JSON.parse(JSON.stringify(facts).replaceAll('"tenant"', JSON.stringify(name))) as NamespaceFacts;

interface ReviewOf {
  readonly spec: { readonly resourceAttributes: { readonly verb: string; readonly resource: string } };
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const dryRun = (options: WriteOptions, refusal: string | undefined, code = 403): Promise<object> => {
  if (options.dryRun !== true) throw new Error('preflight changes nothing');
  return refusal === undefined
    ? Promise.resolve({ object: {} })
    : Promise.reject(new ApiError('POST', { code, message: refusal }, new Date(0)));
};

/** The same API server as one of our accounts, or as virt-controller. */
const asAccount = (world: World, users: string[]) => (user: string) => {
  users.push(user);
  const replace = (type: { kind: string }, _: unknown, options: WriteOptions = {}): Promise<object> => {
    return dryRun(options, type.kind === world.refuses ? 'status is immutable' : undefined);
  };
  const create = (_: unknown, pod: New<Pod>, options: WriteOptions = {}): Promise<object> => {
    world.tried?.push(pod);
    return dryRun(options, world.refusesPods, world.podCode);
  };
  return { ...apiServer(world), replace, create } as unknown as ApiServer;
};

async function preflightNode(world: World, flags: Record<string, unknown> = {}): Promise<Said> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const code = await preflightSubcommand.run({
    session: { cluster: apiServer(world), as: asAccount(world, world.users ?? []), namespace: 'default' },
    terminal: new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process),
    args: ['node', 'node1'],
    flags,
  });
  const textOf = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
  return { code, stdout: textOf(stdout), stderr: textOf(stderr) };
}

const STUCK: Partial<NamespaceFacts> = { quotas: [tight(400)] };
/** Facts without a launcher of vm0, so that its size is unknown. */
const UNKNOWN: Partial<NamespaceFacts> = { pods: [aLauncher('vm1')] };
const immovable: VirtualMachineInstance = {
  ...aVm('vm0'),
  status: {
    ...aVm('vm0').status,
    conditions: [{ type: 'LiveMigratable', status: 'False', reason: 'Disks' }],
  },
};

describe('preflight exits with', () => {
  test.each<[number, string, Partial<NamespaceFacts>]>([
    [0, 'every VM passes', {}],
    [0, 'no VM runs there', { vmis: [], pods: [] }],
    [1, 'a VM is stuck', STUCK],
    [1, 'a VM cannot be migrated', { vmis: [immovable] }],
    [1, 'one is stuck, and another unknown', { ...STUCK, ...UNKNOWN }],
    [2, 'one is unknown, and the others pass', UNKNOWN],
  ])('%d where %s', async (want, _, tenant) => {
    expect((await preflightNode({ tenant })).code).toBe(want);
  });

  test('no code of its own where rights are missing: it names them', async () => {
    const answer = preflightNode({ denied: ['list resourcequotas'] });
    await expect(answer).rejects.toThrow('you lack these rights:\n  list resourcequotas');
  });
});

describe('preflight prints', () => {
  const SEEN = {
    ...{ apiVersion: 'plugin.mtq.kubevirt.io/v1alpha1', kind: 'Preflight' },
    task: { kind: 'node', nodes: ['node1'] },
    counts: { Stuck: 2 },
    vms: [
      {
        namespace: 'tenant',
        name: 'vm0',
        node: 'node1',
        outcome: 'Stuck',
        reason: 'NoVirtualMachineMigrationResourceQuota',
        missing: [{ quota: 'quota', amounts: { 'requests.cpu': '605m' } }],
      },
      { name: 'vm1', outcome: 'Stuck' },
    ],
  };

  test.each([
    ['json', (text: string): unknown => JSON.parse(text)],
    ['yaml', (text: string): unknown => parse(text)],
  ])('the whole report as %s, and nothing else', async (output, parsed) => {
    const { code, stdout, stderr } = await preflightNode({ tenant: STUCK }, { output });
    expect([code, stderr]).toEqual([1, '']);
    expect(parsed(stdout)).toMatchObject(SEEN);
  });

  test('a table for people: what each VM lacks, then the sum', async () => {
    const { stdout, stderr } = await preflightNode({ tenant: STUCK });
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'NAMESPACE   VM    NODE    OUTCOME   WHY',
      'tenant      vm0   node1   stuck     quota lacks requests.cpu=605m',
      'tenant      vm1   node1   stuck     quota lacks requests.cpu=605m',
      '',
      'drain of node1: 2 stuck.',
      'At most 2 at once: KubeVirt migrates 5, and 2 from one node.',
      'Next: kubectl vmmrq preflight node node1 --suggest',
      '',
    ]);
  });

  test('a table for people: where all pass, the drain comes next', async () => {
    const { stdout } = await preflightNode({});
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      'Next: kubectl drain node1 --ignore-daemonsets --delete-emptydir-data, and kubectl vmmrq progress node1',
    );
  });

  test('-o wide: the reason too, and the message', async () => {
    const { stdout } = await preflightNode({ tenant: STUCK }, { output: 'wide' });
    const [headers = '', first = ''] = stdout.split('\n');
    expect(headers).toMatch(/^NAMESPACE +VM +NODE +OUTCOME +REASON +WHY$/);
    expect(first).toMatch(/^tenant +vm0 +node1 +stuck +NoVirtualMachineMigrationResourceQuota +\S+ .*quota/);
  });
});

describe('where a VM needs a raise', () => {
  const tenant = { quotas: [tight(400)], vmmrqs: [aVmmrq()] };

  test('lock and raise are tried as the accounts that make them', async () => {
    const users: string[] = [];
    expect((await preflightNode({ tenant, users })).code).toBe(0);
    expect(users).toEqual([
      userOf('kubevirt-controller', 'kubevirt'),
      userOf('mtq-lock'),
      userOf('mtq-raise'),
    ]);
  });

  test.each([
    ['the raise', 'ResourceQuota', 'refused the raise of ResourceQuota quota: status is immutable'],
    ['the lock', 'Namespace', 'refused the lock of the namespace: status is immutable'],
  ])('a policy that refuses %s makes it stuck, with the text', async (_, refuses, text) => {
    const { code, stdout } = await preflightNode({ tenant, refuses });
    expect([code, stdout]).toEqual([1, expect.stringMatching(new RegExp(`vm0 .* stuck .*${text}`))]);
    const json = await preflightNode({ tenant, refuses }, { output: 'json' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      counts: { Stuck: 2 },
      vms: [{ reason: 'RefusedByPolicy' }, {}],
    });
  });

  test('a recorded refusal that is over counts no more', async () => {
    const [quota = tight(400)] = tenant.quotas;
    const refusal = { tried: [quota], refused: [{ quota, message: 'no' }] };
    const namespace = withRefusals(
      labelled('kubernetes.io/metadata.name', 'tenant')(aNamespace()),
      refusal,
      NOW,
    );
    expect((await preflightNode({ tenant: { ...tenant, namespace } })).code).toBe(0);
  });

  test('without the right to impersonate them, it says that this is not known', async () => {
    const world: World = { tenant, denied: ['impersonate serviceaccounts'], refuses: 'ResourceQuota' };
    const { code, stdout } = await preflightNode(world);
    expect([code, stdout]).toEqual([0, expect.stringContaining('was not tried: that needs the right')]);
  });

  test('no raise is tried where no VM needs one', async () => {
    const users: string[] = [];
    await preflightNode({ users });
    await preflightNode({ tenant: STUCK, users });
    expect([...new Set(users)]).toEqual([userOf('kubevirt-controller', 'kubevirt')]);
  });
});

describe('what refuses another pod of a VM', () => {
  const PSA = forbidden('violates PodSecurity "restricted:latest": privileged');

  test.each<[string, World, number, string]>([
    ['Pod Security: the VM is stuck', { refusesPods: PSA }, 1, `stuck +${PSA}`],
    [
      'a webhook: the VM is stuck',
      { refusesPods: 'admission webhook "a.example.com" denied the request: no' },
      1,
      'stuck +admission webhook "a.example.com" denied the request: no',
    ],
    [
      'a text of no known form: the VM is stuck',
      { refusesPods: 'the object is too large for our taste', podCode: 422 },
      1,
      'stuck +the object is too large for our taste',
    ],
    ['Pod Security, where a quota is full too', { refusesPods: PSA, tenant: STUCK }, 1, `stuck +${PSA}`],
    [
      'a quota that is not of the namespace: the VM is stuck',
      { refusesPods: exceeded('of-all', 'pods=1') },
      1,
      'stuck .*the quota of-all, which is not of this namespace',
    ],
    [
      'a quota of the namespace: its figures count',
      { refusesPods: exceeded('quota', 'pods=1') },
      0,
      'vm0 .* passes',
    ],
    [
      'our own guard, while the namespace is locked: the VM passes',
      { refusesPods: `admission webhook "${WEBHOOK.locked}" denied the request: exceeded quota: locked` },
      0,
      'vm0 .* passes',
    ],
    [
      'nothing that is known, without the right to impersonate virt-controller',
      { refusesPods: PSA, denied: ['impersonate serviceaccounts'] },
      0,
      'a webhook or policy refuses a pod or a raise was not tried',
    ],
  ])('is %s', async (_, world, want, text) => {
    const { code, stdout } = await preflightNode(world);
    expect([code, stdout]).toEqual([want, expect.stringMatching(new RegExp(text))]);
  });

  test('is no answer that shows nothing about the pod', async () => {
    const refusesPods = 'pods is forbidden: User "u" cannot create resource "pods"';
    await expect(preflightNode({ refusesPods })).rejects.toThrow('cannot create');
  });

  test('is asked for a pod like the source, on no node', async () => {
    const tried: New<Pod>[] = [];
    await preflightNode({ tried, tenant: { pods: [aLauncher('vm0', onNode('node1'))], vmis: [aVm('vm0')] } });
    expect(tried).toMatchObject([{ metadata: { ownerReferences: [{ kind: 'VirtualMachineInstance' }] } }]);
    expect(tried[0]?.spec).not.toHaveProperty('nodeName');
  });

  test('is asked for the attachment pod of hotplugged volumes too', async () => {
    const source = aLauncher('vm0');
    const tried: New<Pod>[] = [];
    const tenant = { pods: [source, anAttachment(source)], vmis: [aVm('vm0')] };
    const { code, stdout } = await preflightNode({ tried, tenant, refusesPods: PSA });
    expect([tried.length, code, stdout]).toEqual([2, 1, expect.stringContaining('stuck')]);
  });
});

describe('--suggest', () => {
  const suggest = (world: World, flags: Record<string, unknown> = {}): Promise<Said> =>
    preflightNode({ tenant: STUCK, ...world }, { suggest: true, ...flags });

  const ofCluster = 'create clustervirtualmachinemigrationresourcequotas';
  const ofNamespace = `create ${VMMRQS.plural}`;

  test('prints what to create, after what it is for and who may create it', async () => {
    const { code, stdout, stderr } = await suggest({});
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`# drain of node1: 2 stuck.
# At most 2 at once: KubeVirt migrates 5, and 2 from one node.
# With this, drain of node1: 1 passes, 1 passes in turn.
# The amounts are more than any VM lacks now: they let any of these VMs go last, and are rounded up to whole Mi and tens of m.
# Who may create it: a cluster-admin, or a user bound to ClusterRole managed-tenant-quota-cvmmrq-edit; you may.
# Afterwards: kubectl delete cvmmrq drain-node1
apiVersion: mtq.kubevirt.io/v1alpha1
kind: ClusterVirtualMachineMigrationResourceQuota
metadata:
  name: drain-node1
spec:
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values:
          - tenant
  purposes:
    - Evacuation
  raisePolicy: Exact
  additionalMigrationResources:
    requests.cpu: 610m
`);
  });

  test.each<[string, World, string]>([
    [
      'Pod Security refuses the pods of its VMs',
      { refusesPods: forbidden('violates PodSecurity "restricted:latest": privileged') },
      'is stuck whatever is given: pods "virt-launcher-vm0-x7k2p" is forbidden: violates PodSecurity',
    ],
    [
      'a policy refuses the raise that it gives to',
      { refuses: 'ResourceQuota' },
      '# VM tenant/vm0 is stuck whatever is given: the API server refused the raise of ResourceQuota quota: status is immutable',
    ],
    [
      'a policy refuses it itself',
      { refusesVmmrqs: 'no VMMRQs here' },
      '# You cannot create it so: the API server refused ClusterVirtualMachineMigrationResourceQuota drain-node1: no VMMRQs here\n',
    ],
  ])('exits with 1 where %s, and says so', async (_, world, want) => {
    const { code, stdout, stderr } = await suggest(world);
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(want)]);
  });

  test('tries no VMMRQ that the user may not create', async () => {
    const denied = [ofCluster, ofNamespace];
    expect((await suggest({ denied, refusesVmmrqs: 'no' })).stdout).not.toContain('You cannot create it so');
  });

  test('exits with 1 where a VM would still be stuck', async () => {
    const vmis = [aVm('vm0'), { ...immovable, metadata: aVm('vm1').metadata }];
    const { code, stdout } = await suggest({ tenant: { ...STUCK, vmis } });
    expect(code).toBe(1);
    expect(stdout).toContain('# With this, drain of node1: 1 passes, 1 not migratable.');
  });

  test('-o json: only the object to stdout, the comments to stderr', async () => {
    const { code, stdout, stderr } = await suggest({}, { output: 'json' });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ metadata: { name: 'drain-node1' } });
    expect(stderr).toContain('you may.\nAfterwards: kubectl delete cvmmrq drain-node1\n');
  });

  test.each<[string, readonly string[], RegExp]>([
    [
      'VMMRQs of the namespaces to a user who may write those only',
      [ofCluster],
      /you may\.\n# Afterwards: kubectl delete vmmrq drain-node1 -n tenant\n.*\nkind: Virtual/,
    ],
    [
      'a cluster-wide one to a user who may write neither, and says so',
      [ofCluster, ofNamespace],
      /you may not\.\n.*\n.*\nkind: Cluster/,
    ],
  ])('prints %s', async (_, denied, want) => {
    expect((await suggest({ denied })).stdout).toMatch(want);
  });

  describe('of several VMMRQs prints', () => {
    const several: World = { denied: [ofCluster], twin: 'twin' };
    const inBoth = ['tenant', 'twin'].map((namespace) => ({
      kind: 'VirtualMachineMigrationResourceQuota',
      metadata: { namespace },
    }));

    test('one YAML document each', async () => {
      const { stdout } = await suggest(several);
      expect(parseAllDocuments(stdout).map((document) => document.toJS() as unknown)).toMatchObject(inBoth);
    });

    test('one List as JSON', async () => {
      const { stdout } = await suggest(several, { output: 'json' });
      expect(JSON.parse(stdout)).toMatchObject({ apiVersion: 'v1', kind: 'List', items: inBoth });
    });
  });

  /** Returns the case of so many VMs in a namespace that opts out. `want`: the end of the output. */
  const many = (count: number, want: RegExp): [string, number, Partial<NamespaceFacts>, RegExp][] => {
    const names = Array.from({ length: count }, (_, index) => `vm${String(index)}`);
    const namespace = annotated(ANNOTATION.skip, 'true')(aNamespace());
    const pods = names.map((name) => aLauncher(name));
    const vmis = names.map((name) => aVm(name));
    return [[`${String(count)} VMs opt out`, 1, { ...STUCK, namespace, pods, vmis }, want]];
  };

  test.each<[string, number, Partial<NamespaceFacts>, RegExp]>([
    ['every VM passes', 0, { quotas: [] }, /No VM is stuck on a quota: there is nothing to create\.\n$/],
    [
      'the namespace opts out',
      1,
      { ...STUCK, namespace: annotated(ANNOTATION.skip, 'true')(aNamespace()) },
      /No VMMRQ for Evacuation would change that\.\nVM tenant\/vm0 is stuck whatever is given: the namespace opts out .*\nVM tenant\/vm1 .*\n$/,
    ],
    ...many(11, /\n1 more VM is stuck whatever is given; leave out --suggest to see it\.\n$/),
    ...many(12, /\n2 more VMs are stuck whatever is given; leave out --suggest to see them\.\n$/),
    [
      'a migration for something else waits',
      1,
      { ...STUCK, vmis: [aVm('vm0')], migrations: [aMigration(named('own'), ofVm('vm0'))] },
      /No VMMRQ for Evacuation would change that\.\nVM tenant\/vm0 has migration own \(UserRequested\), which waits and comes first: delete it, or give to its purpose \(kubectl vmmrq explain own -n tenant\)\.\n$/,
    ],
  ])('prints no object where %s', async (_, want, tenant, why) => {
    const { code, stdout, stderr } = await suggest({ tenant });
    expect([code, stdout]).toEqual([want, '']);
    expect(stderr).toMatch(/^drain of node1: /);
    expect(stderr).toMatch(why);
  });
});

test('the help says that the capacity of other nodes is not looked at', () => {
  const command = preflightSubcommand.declare();
  expect([command.summary(), command.description()]).toEqual(
    [1, 2].map(() => expect.stringContaining('capacity')),
  );
});
