import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MARK, WORKED_MARK } from '../../../examples/rolling/decide.ts';
import { DRAINED, WORKED } from '../../../examples/rolling/events.ts';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { freePort } from '../../cluster/controlplane/ports.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { binaryHeaders } from '../../cluster/eventing/cloudevent.ts';
import { typeOf } from '../../cluster/install.ts';
import { cordon, FULL_NODES, type NodeObject } from '../../cluster/kubevirt/objects/node-objects.ts';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { NODE_NAMES } from '../../cluster/kubevirt/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { askUntil, Recorded } from '../../support/eventually.ts';
import { headroomFor, newTenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

/** The functions of examples/ as processes, with their own accounts, beside a whole installation. */

let environment: TestEnvironment;
let controlPlane: ControlPlane;
const processes: ChildProcess[] = [];
const texts = new Recorded<string>((text) => text);
const chat = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    texts.add((JSON.parse(body) as { text: string }).text);
    response.end();
  });
});

type Service = KubernetesObject & {
  spec: {
    template: {
      spec: {
        serviceAccountName: string;
        containers: [{ args: [string]; env?: { name: string; value?: string }[] }];
      };
    };
  };
};
type Trigger = KubernetesObject & { spec: { subscriber: { ref?: { name: string }; uri?: string } } };

const isService = ({ apiVersion = '', kind }: KubernetesObject): boolean =>
  apiVersion.startsWith('serving.') && kind === 'Service';

beforeAll(async () => {
  chat.listen(0, '127.0.0.1');
  await once(chat, 'listening');
  const url = `http://127.0.0.1:${String((chat.address() as AddressInfo).port)}/`;
  const objects = (
    await Promise.all(['notifier', 'rolling'].map((name) => render(`examples/${name}`)))
  ).flat();
  const services = objects.filter(isService) as Service[];
  const ports = new Map<string, number>();
  for (const { metadata } of services) ports.set(metadata.name, await freePort());
  controlPlane = await freshControlPlane();
  environment = await startTestEnvironment({
    controlPlane,
    kubevirt: { drains: true },
    // The guard looks every two seconds: a drain that is shorter has no event, and the next ping would go on.
    timings: { migrationMs: 8_000 },
    // The Broker delivers to the processes.
    change: (installed) => {
      for (const trigger of objects.filter(({ kind }) => kind === 'Trigger') as Trigger[]) {
        const { ref } = trigger.spec.subscriber;
        const uri = `http://127.0.0.1:${String(ports.get(ref?.name ?? '') ?? 0)}/`;
        installed.push({ ...trigger, spec: { ...trigger.spec, subscriber: { uri } } } as KubernetesObject);
      }
    },
  });
  for (const object of objects.filter(({ apiVersion = '' }) => !apiVersion.includes('knative')))
    await environment.admin.create(typeOf(object), object);
  for (const service of services)
    await start(service, { PORT: String(ports.get(service.metadata.name)), url });
});

afterAll(async () => {
  await Promise.all(
    processes.map(async (child) => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }),
  );
  await environment.stop();
  chat.close();
  chat.closeAllConnections();
});

/** As in its pod: its file, its environment, its account's token. */
async function start({ spec }: Service, { PORT, url }: { PORT: string; url: string }): Promise<void> {
  const { serviceAccountName: name, containers } = spec.template.spec;
  const [{ args, env = [] }] = containers;
  const values = env.flatMap(({ name: key, value }) => (value === undefined ? [] : [[key, value] as const]));
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...Object.fromEntries(values),
      ...(await credentialsOf(name)),
      ...{ PORT, WEBHOOK_URL: url },
    },
  });
  processes.push(child);
  await askUntil(
    `${args[0]} serves`,
    () =>
      fetch(`http://127.0.0.1:${PORT}/`).then(
        (response) => response.ok,
        () => false,
      ),
    Boolean,
  );
}

async function credentialsOf(name: string): Promise<Record<string, string>> {
  const kubeconfig = await controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
    users: [{ user: { token: string } }];
  };
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const file = (what: string, text: string): string => {
    const path = join(controlPlane.folder, `${name}.${what}`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return {
    API_SERVER: server,
    TOKEN_FILE: file('token', users[0].user.token),
    NODE_EXTRA_CA_CERTS: file('ca', Buffer.from(ca, 'base64').toString()),
  };
}

let ids = 0;

/** As any client in the cluster posts it. */
async function post(type: string, source: string, data: object = {}): Promise<void> {
  ids += 1;
  const attributes = { specversion: '1.0', id: `posted-${String(ids)}`, type, source };
  const event = { attributes, contentType: 'application/json', data: Buffer.from(JSON.stringify(data)) };
  const headers = binaryHeaders(event).map(([key, value]): [string, string] => [key, value]);
  const { eventing } = environment.cluster;
  await fetch(eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq'), { method: 'POST', headers, body: event.data });
  await eventing.broker.idle();
}

/** The PingSource of examples/rolling. */
const ping = (): Promise<void> =>
  post('dev.knative.sources.ping', `/apis/v1/namespaces/${SYSTEM_NAMESPACE}/pingsources/mtq-example-rolling`);

/** "node1 cordoned", "node2 done", or only the name. */
const stateOf = ({ metadata: { name, annotations }, spec }: NodeObject): string => {
  const mark = JSON.parse(annotations?.[MARK] ?? '{}') as { isDone?: boolean };
  const tainted = (spec?.taints ?? []).some(({ key }) => key === 'kubevirt.io/drain');
  const words = { cordoned: spec?.unschedulable === true, tainted, done: mark.isDone === true };
  return [name, ...Object.entries(words).flatMap(([word, is]) => (is ? [word] : []))].join(' ');
};

const nodes = async (): Promise<NodeObject[]> => (await environment.admin.list(FULL_NODES, {})).items;
const states = async (): Promise<string[]> => (await nodes()).map(stateOf).toSorted();

test('a roll drains, works on and uncordons one node after another, and only those', async () => {
  const { admin } = environment;
  const [first = '', second = '', third = '', other = ''] = NODE_NAMES;
  const done = [`${first} done`, `${second} done`, `${third} done`, other];
  const tenant = await newTenant(environment, { name: 'rolled', vms: 2, gives: headroomFor(2) });
  await cordon(admin, third);
  const seen: string[][] = [];
  await ping();
  const before = await askUntil(
    `${second} is done`,
    async () => {
      seen.push(await states());
      return seen.at(-1) ?? [];
    },
    (all) => all.includes(`${second} done`),
  );
  // The third one is somebody else's.
  expect(before).toEqual([`${first} done`, `${second} done`, `${third} cordoned`, other]);
  const own = seen.map((all) => all.filter((state) => state.includes('tainted')));
  expect(own.filter(({ length }) => length > 1)).toEqual([]);
  expect(new Set(own.flat())).toEqual(new Set([`${first} cordoned tainted`, `${second} cordoned tainted`]));

  const { items: drains } = await admin.list(PROGRESSES, {});
  expect(drains.map(({ spec, status }) => [spec.subject, status?.state])).toEqual(
    expect.arrayContaining([
      [first, 'Completed'],
      [second, 'Completed'],
    ]),
  );

  // Any pod may post these.
  await post(DRAINED, '/examples/rolling', { node: third });
  await post(WORKED, '/examples/work', { node: third });
  await ping();
  expect(await states()).toContain(`${third} cordoned`);
  const worked = (await nodes()).filter(({ metadata }) => metadata.annotations?.[WORKED_MARK] !== undefined);
  expect(worked.map(({ metadata: { name } }) => name).toSorted()).toEqual([first, second]);
  await cordon(admin, third, false);
  await ping();
  await askUntil('every node is done', states, (all) => all.join() === done.join());
  await ping();
  expect(await states()).toEqual(done);

  const { items } = await admin.list(FULL_VMIS, { namespace: tenant.name });
  expect(items.map(({ status }) => status?.phase)).toEqual(['Running', 'Running']);
});

test('the chat has a line for each drain, once', async () => {
  await texts.until('the last drain', () => texts.items.some((text) => text.includes('completed')));
  expect(texts.items.filter((text) => !/^`Drain of node\d (blocked|completed), \d\/\d: /.test(text))).toEqual(
    [],
  );
  expect(new Set(texts.items).size).toBe(texts.items.length);
});

test('the account of the roll may change no other node, and no node in another way', async () => {
  const account = { namespace: SYSTEM_NAMESPACE, name: 'mtq-example-rolling' };
  const rolling = connect(await controlPlane.kubeconfigFor(account));
  await environment.admin.create(FULL_NODES, { metadata: { name: 'other' } });
  const merge = { spec: { unschedulable: true } };
  await expect(rolling.patch(FULL_NODES, { name: 'other' }, { merge })).rejects.toMatchObject({ code: 403 });
  const [node] = NODE_NAMES;
  await expect(rolling.delete(FULL_NODES, { name: node ?? '' })).rejects.toMatchObject({ code: 403 });
});
