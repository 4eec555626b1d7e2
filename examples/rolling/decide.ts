/** What to do next of a rolling maintenance, by what was read a moment ago. */

/** Annotation of each node that this example cordoned: the roll, and the highest number of a drain of that node before it. */
export const MARK = 'rolling.example.com/mark';
/** Annotation of a node that was worked on: the roll. No event says that, because any pod may post one. */
export const WORKED_MARK = 'rolling.example.com/worked';

export interface Node {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
}
export interface Taint {
  readonly key: string;
  readonly effect: string;
}

/** MaintenanceProgress, as far as it is needed here. */
export interface Progress {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly node?: { readonly uid: string } };
  readonly status?: { readonly state: string };
}

/** VirtualMachineInstance, with a node as the label of where it runs, or of where it migrates to. */
export interface Vmi {
  readonly status?: {
    readonly phase?: string;
    readonly nodeName?: string;
    readonly migrationState?: {
      readonly targetNode?: string;
      readonly completed?: boolean;
      readonly failed?: boolean;
    };
  };
}

/** Whether the VM runs on the node, or migrates to it: the label of its target may be of a migration that has ended. */
export function isOn(node: string, { status = {} }: Vmi): boolean {
  const { phase = '', nodeName, migrationState = {} } = status;
  if (['Succeeded', 'Failed'].includes(phase)) return false;
  const { targetNode, completed = false, failed = false } = migrationState;
  return nodeName === node || (targetNode === node && !completed && !failed);
}

export interface Seen {
  readonly roll: string;
  /** The nodes in their order. */
  readonly nodes: readonly Node[];
  readonly progresses: readonly Progress[];
  /** Names of nodes with running VMs, or to which VMs migrate. */
  readonly occupied: ReadonlySet<string>;
}

export type Action =
  | { readonly do: 'cordon' | 'uncordon' | 'work'; readonly node: Node }
  | { readonly do: 'nothing'; readonly why: string };

export function decide(seen: Seen): Action {
  const { roll, nodes } = seen;
  const current = nodes.find((node) => markOf(node)?.roll === roll && markOf(node)?.isDone !== true);
  if (current !== undefined) {
    const { name, annotations } = current.metadata;
    if (current.spec.unschedulable !== true) return nothing(`${name} was uncordoned by somebody else`);
    if (!isDrained(current, seen)) return nothing(`${name} is being drained`);
    return { do: annotations?.[WORKED_MARK] === roll ? 'uncordon' : 'work', node: current };
  }
  const next = nodes.find((node) => markOf(node)?.roll !== roll);
  if (next === undefined) return nothing('every node is done');
  if (next.spec.unschedulable === true) return nothing(`${next.metadata.name} was cordoned by somebody else`);
  return { do: 'cordon', node: next };
}

const nothing = (why: string): Action => ({ do: 'nothing', why });

/** No VM is left, and its drain is completed. Without any VM there is no drain. */
function isDrained(node: Node, { progresses, occupied }: Seen): boolean {
  if (occupied.has(node.metadata.name)) return false;
  const after = markOf(node)?.after ?? 0;
  const since = drainsOf(node, progresses).filter((drain) => numberOf(drain) > after);
  const newest = since.toSorted((one, other) => numberOf(other) - numberOf(one))[0];
  return newest === undefined || newest.status?.state === 'Completed';
}

const drainsOf = ({ metadata }: Node, progresses: readonly Progress[]): Progress[] =>
  progresses.filter(({ spec }) => spec.node?.uid === metadata.uid);

/** The number at the end of its name. */
const numberOf = ({ metadata }: Progress): number => Number(/-(\d+)$/.exec(metadata.name)?.[1] ?? 0);

interface Mark {
  readonly roll: string;
  readonly after: number;
  readonly isDone?: true;
}

function markOf({ metadata }: Node): Mark | undefined {
  try {
    return JSON.parse(metadata.annotations?.[MARK] ?? '') as Mark;
  } catch {
    return undefined;
  }
}

/** The merge patch that cordons or uncordons a node, unless the node has changed since it was read. */
export function patchOf(
  action: 'cordon' | 'uncordon',
  node: Node,
  { roll, taint, progresses }: Patching,
): object {
  const others = (node.spec.taints ?? []).filter(({ key }) => key !== taint);
  const isCordon = action === 'cordon';
  const after = Math.max(0, ...drainsOf(node, progresses).map(numberOf));
  const mark: Mark = isCordon ? { roll, after } : { roll, after, isDone: true };
  return {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      annotations: { [MARK]: JSON.stringify(mark) },
    },
    spec: {
      unschedulable: isCordon ? true : null,
      taints: isCordon ? [...others, { key: taint, effect: 'NoSchedule' }] : others,
    },
  };
}

/** The merge patch that marks a node as worked on. Work may last long, and the node changes meanwhile: only another node of the name counts. */
export const workedPatch = ({ metadata: { uid } }: Node, roll: string): object => ({
  metadata: { uid, annotations: { [WORKED_MARK]: roll } },
});

interface Patching extends Pick<Seen, 'roll' | 'progresses'> {
  /** Key of KubeVirt's drain taint: KubeVirt then moves the node's VMs. */
  readonly taint: string;
}
