import type { Clock } from '../../../../functions/runtime/clock.ts';
import type { Cluster, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { isNotFound } from '../../../../functions/kubernetes/errors.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { keyOf, type Cache, type Log } from '../client-go/cache.ts';
import { LABELS } from '../objects/names.ts';
import {
  endedStatus,
  handlerPatch,
  podStep,
  runningStatus,
  TIMING_OF,
  vmiStep,
  type PodStep,
  type Timings,
  type VmiStep,
} from './steps.ts';
import { isSchedulable, type NodeObject } from '../objects/node-objects.ts';
import { FULL_VMIS, LAUNCHER_PODS } from '../objects/objects.ts';
import { isOver, launchersOf } from '../objects/pods.ts';
import { Queue, type Again } from '../client-go/queue.ts';
import { toTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';
import { addressOf } from '../world.ts';

export interface NodesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly pods: Cache<LauncherPod>;
  readonly vmis: Cache<Vmi>;
  readonly names: readonly string[];
  /** Of the cluster; where it has none, every node takes launchers. */
  readonly nodes: Cache<NodeObject>;
  readonly timings: Timings;
  /** Whether the migration of this UID fails when it is through; none does when left out. */
  readonly isFailing?: (uid: string) => boolean;
  readonly log: Log;
}

interface Binding extends KubernetesObject {
  target: { apiVersion: 'v1'; kind: 'Node'; name: string };
}

/** Stands in for scheduler, kubelet and virt-handler for KubeVirt's own pods, each step after its duration. */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #queue: Queue;
  #nextNode = 0;

  constructor(options: NodesOptions) {
    this.#options = options;
    this.#queue = new Queue({ workers: 10, work: (key) => this.#work(key), ...options });
    options.pods.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#planPod(object);
      for (const vmi of options.vmis.inNamespace(object.metadata.namespace)) this.#planVmi(vmi);
    });
    options.vmis.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#planVmi(object);
    });
    options.nodes.onChange(() => {
      for (const pod of options.pods.all()) if (pod.spec.nodeName === undefined) this.#planPod(pod);
    });
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #planPod(pod: LauncherPod): void {
    const step = podStep(pod);
    if (step !== undefined) this.#plan(['pod', step, keyOf(pod), pod.metadata.uid]);
  }

  #planVmi(vmi: Vmi): void {
    const step = vmiStep(vmi, this.#launchersOf(vmi));
    const run = vmi.status?.migrationState?.migrationUid ?? '';
    if (step !== undefined) this.#plan(['vmi', step, keyOf(vmi), `${vmi.metadata.uid}/${run}`]);
  }

  /** One timer for each step of each pod and each migration, so that none is cut short by another's. */
  #plan(key: ['pod', PodStep, string, string] | ['vmi', VmiStep, string, string]): void {
    this.#queue.add(key.join(' '), this.#options.timings[TIMING_OF[key[1]]]);
  }

  async #work(key: string): Promise<Again> {
    const [kind, step = '', name = ''] = key.split(' ');
    try {
      if (kind === 'pod') await this.#stepPod(step, name);
      else await this.#stepVmi(step, name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }

  async #stepPod(planned: string, key: string): Promise<void> {
    const pod = this.#options.pods.get(key);
    if (pod === undefined || podStep(pod) !== planned) return;
    switch (podStep(pod)) {
      case 'bind':
        await this.#bind(pod);
        break;
      case 'run':
        await this.#patchPod(pod, runningStatus(pod, this.#now()));
        break;
      case 'end':
        if (!isOver(pod)) await this.#patchPod(pod, endedStatus(this.#now()));
        await this.#remove(pod);
        break;
      case undefined:
    }
  }

  async #stepVmi(planned: string, key: string): Promise<void> {
    const { cluster, vmis } = this.#options;
    const vmi = vmis.get(key);
    const step = vmi === undefined ? undefined : vmiStep(vmi, this.#launchersOf(vmi));
    if (vmi === undefined || step === undefined || step !== planned) return;
    if (step === 'leave-source') {
      const name = vmi.status?.migrationState?.sourcePod;
      const source = this.#launchersOf(vmi).find(({ metadata }) => metadata.name === name);
      if (source !== undefined) await this.#patchPod(source, endedStatus(this.#now()));
      return;
    }
    const merge = handlerPatch(this.#resultOf(step, vmi), vmi, this.#now());
    vmis.put((await cluster.patch(FULL_VMIS, addressOf(vmi), { merge })).object);
  }

  #resultOf<T extends VmiStep>(step: T, { status }: Vmi): T | 'fail' {
    const { isFailing = () => false } = this.#options;
    return step === 'finish' && isFailing(status?.migrationState?.migrationUid ?? '') ? 'fail' : step;
  }

  /** A kubelet's DELETE, without grace. */
  async #remove(pod: LauncherPod): Promise<void> {
    await this.#options.cluster.delete(LAUNCHER_PODS, addressOf(pod), { gracePeriodSeconds: 0 });
  }

  /** The Binding subresource, as the scheduler uses it: it sets the node and PodScheduled in one version. */
  async #bind(pod: LauncherPod): Promise<void> {
    const { name, namespace = 'default' } = pod.metadata;
    const bindings: ResourceType<Binding> = {
      apiVersion: 'v1',
      kind: 'Binding',
      plural: `pods/${name}/binding`,
      namespaced: true,
    };
    const target = { apiVersion: 'v1', kind: 'Node', name: this.#nodeFor(pod) } as const;
    await this.#options.cluster.create(bindings, { metadata: { name, namespace }, target });
  }

  /** An attachment pod goes to its launcher's node; launchers go round, never beside another of their VMI. */
  #nodeFor({ metadata }: LauncherPod): string {
    const { pods, names } = this.#options;
    const living = pods.inNamespace(metadata.namespace).filter((pod) => !isOver(pod));
    const owner = living.find(({ metadata: { uid } }) =>
      metadata.ownerReferences?.some((one) => one.uid === uid),
    );
    if (owner?.spec.nodeName !== undefined) return owner.spec.nodeName;
    const guest = metadata.labels?.[LABELS.createdBy];
    const busy = living.filter((pod) => pod.metadata.labels?.[LABELS.createdBy] === guest);
    const isFree = (name: string): boolean =>
      !busy.some(({ spec }) => spec.nodeName === name) && this.#takesLaunchers(name);
    const rotated = names.map((_, index) => names[(this.#nextNode + index) % names.length] ?? '');
    const name = rotated.find(isFree);
    this.#nextNode += 1;
    if (name === undefined) throw new Error(`no node is free for ${metadata.name}`);
    return name;
  }

  #takesLaunchers(name: string): boolean {
    const { nodes } = this.#options;
    const node = nodes.get(`/${name}`);
    return node === undefined ? nodes.all().length === 0 : isSchedulable(node);
  }

  async #patchPod(pod: LauncherPod, status: Record<string, unknown>): Promise<void> {
    const { cluster, pods } = this.#options;
    const change = { merge: { metadata: { uid: pod.metadata.uid }, status }, subresource: 'status' } as const;
    pods.put((await cluster.patch(LAUNCHER_PODS, addressOf(pod), change)).object);
  }

  #launchersOf(vmi: Vmi): LauncherPod[] {
    return launchersOf(vmi, this.#options.pods.inNamespace(vmi.metadata.namespace));
  }

  #now(): string {
    return toTime(this.#options.clock.now());
  }
}
