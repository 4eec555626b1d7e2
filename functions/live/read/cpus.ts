import { named } from '../../cluster/listed.ts';
import { cpuLabelsOf, lacksCpuLabels } from '../findings/cpu.ts';
import type { Vmi } from '../../domain/live/kubevirt.ts';
import type { PlanView, VmView } from '../findings/plan-view.ts';
import type { Node } from '../../domain/objects.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { NODES } from '../../kubernetes/resources.ts';
import { getOrUndefined, unlessForbidden } from './get.ts';
import { orUnknown } from './unknown-cluster.ts';

/** A VM that runs, with its uid. */
export interface Running {
  readonly uid: string;
  readonly vmi: Vmi;
}

export const runningIn = (vms: readonly VmView[]): Running[] =>
  vms.flatMap(({ found: [vm], vmi }) =>
    vm === undefined || vmi === undefined ? [] : [{ uid: vm.metadata.uid, vmi }],
  );

/**
 * Finds the VMs whose CPUs no node of the target has, and those whose nodes have no labels about their CPU. If a token may not read nodes,
 * nothing counts as missing. Rejects with UnknownCluster.
 */
export async function readCpus(
  running: readonly Running[],
  { source, target }: { readonly source: Reader; readonly target: Reader },
): Promise<Pick<PlanView, 'missingCpus' | 'unlabelledNodes'>> {
  const nodes = await readNodes(new Set(running.map(({ vmi }) => nodeNameOf(vmi))), source);
  const needs = running.map(({ uid, vmi }) => ({
    uid,
    labels: cpuLabelsOf(vmi, nodes.get(nodeNameOf(vmi))),
  }));
  const selectors = new Set(needs.map(({ labels }) => selectorOf(labels)));
  const asked = [...selectors].map(async (selector) => {
    const isThere = await orUnknown('destination', unlessForbidden(hasNode(selector, target), true));
    return isThere ? [] : [selector];
  });
  const missing = (await Promise.all(asked)).flat();
  return {
    missingCpus: new Map(
      needs.flatMap(({ uid, labels }) =>
        missing.includes(selectorOf(labels)) ? [[uid, Object.keys(labels)] as const] : [],
      ),
    ),
    unlabelledNodes: unlabelledNodes(running, nodes),
  };
}

const unlabelledNodes = (
  running: readonly Running[],
  nodes: ReadonlyMap<string, Node | undefined>,
): PlanView['unlabelledNodes'] =>
  new Map(
    running.flatMap(({ uid, vmi }) => {
      const node = nodes.get(nodeNameOf(vmi));
      return node !== undefined && lacksCpuLabels(vmi, node) ? [[uid, node.metadata.name] as const] : [];
    }),
  );

const nodeNameOf = ({ status }: Vmi): string => status?.nodeName ?? '';

/** Reads the nodes by name: each once, however many VMs run there. */
async function readNodes(
  names: ReadonlySet<string>,
  source: Reader,
): Promise<ReadonlyMap<string, Node | undefined>> {
  const reads = [...names]
    .filter((name) => name !== '')
    .map(async (name) => {
      const node = unlessForbidden(getOrUndefined(source.get(NODES, { name })), undefined);
      return [name, await orUnknown('source', node)] as const;
    });
  return new Map(await Promise.all(reads));
}

/** Returns the selector of nodes with all these labels; '' selects any. */
const selectorOf = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map((label) => label.join('='))
    .join();

const hasNode = async (labelSelector: string, cluster: Reader): Promise<boolean> =>
  labelSelector === '' || (await cluster.list(named(NODES), { labelSelector })).items.length > 0;
