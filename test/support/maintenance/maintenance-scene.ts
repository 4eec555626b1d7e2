import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from '@jest/globals';
import { KUBEVIRT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Node } from '../../../functions/domain/objects.ts';
import { owesEvents, type MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, NODES, PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import type { LocalClusterOptions } from '../../cluster/cluster.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  newMigration,
  newVirtualMachineInstance,
} from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil, Recorded } from '../eventually.ts';
import { startTestEnvironment, type TestEnvironment } from '../environment/test-environment.ts';

/** An event as the subscriber got it. */
export interface Received {
  readonly id: string;
  /** Without its prefix. */
  readonly type: string;
  readonly sequence: number;
  /** The MaintenanceProgress. */
  readonly name: string;
}

/** An installation without KubeVirt's controllers: the test writes what they would. A subscriber gets every event. */
export interface MaintenanceScene {
  readonly environment: TestEnvironment;
  readonly admin: Cluster;
  node(name: string, spec?: Node['spec']): Promise<void>;
  setNode(name: string, spec: Node['spec']): Promise<void>;
  /** A running VM on a node, in a namespace of the node's name. */
  vm(node: string, name: string, status?: object): Promise<void>;
  patchVm(node: string, name: string, change: object): Promise<void>;
  /** What the evacuation controller creates for it. */
  evacuate(node: string, name: string): Promise<void>;
  setMigration(namespace: string, name: string, status: object): Promise<void>;
  /** The object about a node; undefined: there is none. */
  drainOf(node: string): Promise<MaintenanceProgress | undefined>;
  upgrades(): Promise<MaintenanceProgress[]>;
  /** The last upgrade to this deployment, once it is in this state at "done/total". */
  untilUpgrade(subject: string, state: string, progress: string): Promise<MaintenanceProgress>;
  /** Everything that the subscriber got. */
  readonly received: Recorded<Received>;
  /** The events about an object, each id once, by their sequence. */
  eventsOf(name: string): Received[];
  /** The types of the object's events, whose numbers have no gap, once the subscriber has the last one. */
  typesUntil(name: string, last: string): Promise<string[]>;
  /** The subjects of the guard's posts so far. */
  posts(): string[];
  untilDrain(
    node: string,
    holds: (found: MaintenanceProgress | undefined) => boolean,
  ): Promise<MaintenanceProgress>;
  stop(): Promise<void>;
}

export const hasState =
  (state: string) =>
  (found: MaintenanceProgress | undefined): boolean =>
    found?.status?.state === state;

export const isDelivered = (found: MaintenanceProgress | undefined): boolean =>
  found !== undefined && !owesEvents(found);

/** Status of a migration that a quota refuses. */
export const REFUSED = {
  phase: 'Pending',
  conditions: [{ type: KUBEVIRT.rejectedByQuota, status: 'True', lastProbeTime: '2026-11-21T05:00:00Z' }],
};

const SUBSCRIBER = 'subscriber';

export async function startMaintenanceScene(options: LocalClusterOptions = {}): Promise<MaintenanceScene> {
  const received = new Recorded<Received>((event) => JSON.stringify(event));
  const server = createServer((request, response) => {
    request.resume();
    received.add(receivedBy(request.headers));
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const uri = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  const environment = await startTestEnvironment({
    ...options,
    change: (objects) => void objects.push(subscription(uri)),
  });
  await environment.cluster.stopKubeVirt();
  const { admin, hops } = environment;
  const namespaces = new Set<string>();
  const inNamespace = async (name: string): Promise<string> => {
    if (!namespaces.has(name)) await admin.create(NAMESPACES, { metadata: { name } });
    namespaces.add(name);
    return name;
  };
  const drainOf = async (node: string): Promise<MaintenanceProgress | undefined> =>
    (await admin.list(PROGRESSES, {})).items.findLast(({ spec }) => spec.node?.name === node);
  const upgrades = async () =>
    (await admin.list(PROGRESSES, {})).items.filter(({ spec }) => spec.kind === 'Upgrade');
  return {
    environment,
    admin,
    node: async (name, spec = {}) => {
      await admin.create(NODES, { metadata: { name }, spec });
    },
    setNode: async (name, spec) => {
      await admin.patch(NODES, { name }, { merge: { spec } });
    },
    vm: async (node, name, status = {}) => {
      const namespace = await inNamespace(node);
      const vmi = newVirtualMachineInstance({ namespace, name, labels: { [KUBEVIRT.nodeName]: node } });
      const metadata = { ...vmi.metadata, finalizers: [] };
      await admin.create(FULL_VMIS, {
        ...vmi,
        metadata,
        status: { phase: 'Running', nodeName: node, ...status },
      });
    },
    patchVm: async (node, name, merge) => {
      await admin.patch(FULL_VMIS, { namespace: node, name }, { merge: merge as Record<string, unknown> });
    },
    evacuate: async (node, name) => {
      const of = { namespace: await inNamespace(node), name: `evacuates-${name}`, vmi: name };
      const migration = newMigration({
        ...of,
        annotations: { [KUBEVIRT.evacuation]: node },
        priority: 'system-critical',
      });
      await admin.create(FULL_MIGRATIONS, {
        ...migration,
        metadata: { ...migration.metadata, finalizers: [] },
      });
    },
    setMigration: async (namespace, name, status) => {
      await admin.patch(FULL_MIGRATIONS, { namespace, name }, { merge: { status }, subresource: 'status' });
    },
    drainOf,
    upgrades,
    received,
    eventsOf: (name) => eventsAmong(received.items, name),
    typesUntil: async (name, last) => {
      await received.until(`${name}: ${last}`, () => eventsAmong(received.items, name).at(-1)?.type === last);
      const events = eventsAmong(received.items, name);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
      return events.map(({ type }) => type);
    },
    posts: () => hops.items.flatMap(({ subject, trigger }) => (trigger === 'mtq-progress' ? [subject] : [])),
    untilUpgrade: async (...[subject, state, progress]) => {
      const found = await askUntil(
        `the upgrade to ${subject} is ${state} at ${progress}`,
        async () => (await upgrades()).findLast(({ spec }) => spec.subject === subject),
        (upgrade) => upgrade?.status?.state === state && upgrade.status.progress === progress,
      );
      if (found === undefined) throw new Error('there is none');
      return found;
    },
    untilDrain: async (node, holds) => {
      const found = await askUntil(`the drain of ${node}`, () => drainOf(node), holds);
      if (found === undefined) throw new Error('there is none');
      return found;
    },
    stop: async () => {
      await environment.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}

const subscription = (uri: string): KubernetesObject =>
  ({
    apiVersion: 'eventing.knative.dev/v1',
    kind: 'Trigger',
    metadata: { name: SUBSCRIBER, namespace: SYSTEM_NAMESPACE },
    spec: {
      broker: 'mtq',
      filters: [
        {
          any: [
            { prefix: { type: 'io.kubevirt.mtq.drain.' } },
            { prefix: { type: 'io.kubevirt.mtq.upgrade.' } },
          ],
        },
      ],
      subscriber: { uri },
    },
  }) as unknown as KubernetesObject;

function receivedBy(headers: IncomingHttpHeaders): Received {
  const of = (name: string): string => String(headers[`ce-${name}`] ?? '');
  const type = of('type').replace(/^io\.kubevirt\.mtq\.\w+\./, '');
  return { id: of('id'), type, sequence: Number(of('sequence')), name: of('subject') };
}

function eventsAmong(received: readonly Received[], wanted: string): Received[] {
  const own = received.filter(({ name }) => name === wanted);
  return [...new Map(own.map((event) => [event.id, event])).values()].toSorted(
    (one, other) => one.sequence - other.sequence,
  );
}
