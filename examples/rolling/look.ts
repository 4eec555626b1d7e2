/** Reads the nodes NODES (names, by commas), in their order, with their drains and VMs. ROLL: a name for this round. */
import { isOn, type Node, type Progress, type Seen, type Vmi } from './decide.ts';
import { request } from './kubernetes.ts';

const { NODES = '', ROLL = '' } = process.env;
const names = NODES.split(',').filter((name) => name !== '');
if (names.length === 0 || ROLL === '') throw new Error('NODES or ROLL is not set');

interface List<T> {
  readonly items: readonly T[];
}

export async function look(): Promise<Seen> {
  const [nodes, { items: progresses }, occupied] = await Promise.all([
    Promise.all(names.map((name) => request<Node>(`/api/v1/nodes/${name}`))),
    request<List<Progress>>('/apis/mtq.kubevirt.io/v1alpha1/maintenanceprogresses'),
    Promise.all(names.map(hasVms)),
  ]);
  return { roll: ROLL, nodes, progresses, occupied: new Set(names.filter((_, index) => occupied[index])) };
}

async function hasVms(node: string): Promise<boolean> {
  const labels = ['kubevirt.io/nodeName', 'kubevirt.io/migrationTargetNodeName'];
  const lists = await Promise.all(
    labels.map((label) => {
      const selector = new URLSearchParams({ labelSelector: `${label}=${node}` });
      return request<List<Vmi>>(`/apis/kubevirt.io/v1/virtualmachineinstances?${selector.toString()}`);
    }),
  );
  return lists.some(({ items }) => items.some((vmi) => isOn(node, vmi)));
}
