import { readFileSync } from 'node:fs';
import type { VirtualMachine, Vmi, Vmim } from '../../../functions/domain/live/kubevirt.ts';
import type { KubernetesObject, Pod } from '../../../functions/domain/objects.ts';

/** One cluster of a recording: the objects of the one VM that moves; undefined: there is none. */
export interface RecordedSide {
  readonly vm: VirtualMachine | undefined;
  readonly vmi: Vmi | undefined;
  readonly vmims: readonly Vmim[];
  /** The newest one. */
  readonly vmim: Vmim | undefined;
  readonly pods: readonly Pod[];
}

/** A recording after one of its lines. */
export interface Moment {
  /** Since the VM on the target was created. */
  readonly seconds: number;
  /** What the script did before it, or how it ended. */
  readonly marks: readonly string[];
  readonly source: RecordedSide;
  readonly target: RecordedSide;
}

interface Line {
  readonly seconds: number;
  readonly mark?: string;
  readonly cluster?: 'source' | 'target';
  readonly kind?: string;
  readonly watch?: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** `gone`: the members that a delta has lost, such as status.conditions. */
  readonly object?: Stored & { readonly gone?: readonly string[] };
  readonly delta?: boolean;
}

type Stored = KubernetesObject & Partial<Record<'metadata' | 'spec' | 'status', object>>;

/** Every moment of test/recorded/cross-<name>.jsonl. */
export function crossHistory(name: string): Moment[] {
  const file = new URL(`../../recorded/cross-${name}.jsonl`, import.meta.url);
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const stored = new Map<string, Stored>();
  const marks: string[] = [];
  return lines.map((line) => {
    if (line.mark !== undefined) marks.push(line.mark);
    apply(line, stored);
    const side = (cluster: string): RecordedSide => sideOf(stored, cluster);
    return {
      seconds: line.seconds,
      marks: [...marks],
      source: side('source'),
      target: side('target'),
    };
  });
}

function apply({ cluster, kind, watch, object, delta }: Line, stored: Map<string, Stored>): void {
  if (object === undefined) return;
  const key = `${cluster ?? ''} ${kind ?? ''} ${object.metadata.uid}`;
  if (watch === 'DELETED') {
    stored.delete(key);
    return;
  }
  const before = stored.get(key);
  stored.set(key, delta === true && before !== undefined ? merged(before, object) : object);
}

/** A delta leaves out the members that are as before. */
function merged(before: Stored, { gone = [], ...delta }: NonNullable<Line['object']>): Stored {
  const parts = (['metadata', 'spec', 'status'] as const).map((part) => {
    const members = Object.entries({ ...before[part], ...delta[part] });
    return [part, Object.fromEntries(members.filter(([member]) => !gone.includes(`${part}.${member}`)))];
  });
  return { ...before, ...delta, ...(Object.fromEntries(parts) as Stored) };
}

function sideOf(stored: ReadonlyMap<string, Stored>, cluster: string): RecordedSide {
  const ofKind = (kind: string): Stored[] =>
    [...stored].filter(([key]) => key.startsWith(`${cluster} ${kind} `)).map(([, object]) => object);
  const vmims = ofKind('VirtualMachineInstanceMigration') as Vmim[];
  return {
    vm: ofKind('VirtualMachine').at(-1) as VirtualMachine | undefined,
    vmi: ofKind('VirtualMachineInstance').at(-1) as Vmi | undefined,
    vmims,
    vmim: vmims.at(-1),
    pods: ofKind('Pod') as Pod[],
  };
}
