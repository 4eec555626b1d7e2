/**
 * Cordons the nodes NODES (names, by commas) one after another, has each one worked on when its VMs have left, and uncordons it. An
 * event only starts a look at the nodes. ROLL: a name for this round; a node that has it is done.
 */
import { CloudEvent } from 'cloudevents';
import { log, serve } from '../serve.ts';
import { decide, isOn, patchOf, type Node, type Progress, type Seen, type Vmi } from './decide.ts';
import { DRAINED, nodeIn, WORKED } from './events.ts';
import { request } from './kubernetes.ts';

const { NODES = '', ROLL = '', DRAIN_TAINT: taint = 'kubevirt.io/drain', PORT = '8080' } = process.env;
const names = NODES.split(',').filter((name) => name !== '');
if (names.length === 0 || ROLL === '') throw new Error('NODES or ROLL is not set');

interface List<T> {
  readonly items: readonly T[];
}

async function look(worked: string | undefined): Promise<Seen> {
  const [nodes, { items: progresses }, occupied] = await Promise.all([
    Promise.all(names.map((name) => request<Node>(`/api/v1/nodes/${name}`))),
    request<List<Progress>>('/apis/mtq.kubevirt.io/v1alpha1/maintenanceprogresses'),
    Promise.all(names.map(hasVms)),
  ]);
  return {
    roll: ROLL,
    nodes,
    progresses,
    occupied: new Set(names.filter((_, index) => occupied[index])),
    worked,
  };
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

await serve(async (event) => {
  const worked = event.type === WORKED ? nodeIn(event) : undefined;
  for (;;) {
    const seen = await look(worked);
    const action = decide(seen);
    if (action.do === 'nothing') {
      log(action.why);
      return undefined;
    }
    const { name } = action.node.metadata;
    log(`${action.do} ${name}`);
    if (action.do === 'work')
      return new CloudEvent({ type: DRAINED, source: '/examples/rolling', data: { node: name } });
    await request(`/api/v1/nodes/${name}`, patchOf(action.do, action.node, { ...seen, taint }));
  }
}, Number(PORT));
