import { shown } from '../../functions/domain/foreign-text.ts';
import { has } from '../../functions/domain/live/conditions.ts';
import type { LiveCondition, Plan } from '../../functions/domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../functions/domain/live/names.ts';
import { BLOCKS_VMS } from '../../functions/live/run/state.ts';
import { renderTable, type Cell, type Sheet } from '../terminal/table.ts';

/** Ready: a Migration of the plan would start. Held: it would start, but some VMs would not move. */
export type PlanAnswer = 'Ready' | 'Held' | 'NotReady' | 'CannotTell';

/** Weights, the heaviest first. */
const WEIGHTS = ['stops', 'holds', 'warns'] as const;

/** A finding of `live` in a plan. */
export interface PlanFinding {
  /** `stops`: no VM of the plan starts before the finding is resolved; `holds`: only the VMs of the finding do not move. */
  readonly weight: (typeof WEIGHTS)[number];
  readonly condition: string;
  /** VMs or other objects of the finding. */
  readonly about: readonly string[];
  readonly message: string;
  readonly suggestion: string;
}

export interface PlanReport {
  readonly namespace: string;
  readonly name: string;
  readonly answer: PlanAnswer;
  /** The result in one sentence. */
  readonly message: string;
  readonly findings: readonly PlanFinding[];
}

const HOLDS: readonly string[] = BLOCKS_VMS;
const WEIGHT: Partial<Record<LiveCondition['category'], PlanFinding['weight']>> = {
  Critical: 'stops',
  Error: 'stops',
  Warn: 'warns',
};

/** What the conditions of a plan say, those that stop it first; pure. */
export function planReport({ metadata, spec, status = {} }: Plan): PlanReport {
  const { name, namespace = '', generation } = metadata;
  const of = { namespace, name };
  const { observedGeneration, conditions = [] } = status;
  if (spec.type !== 'live') {
    const message = `its type is ${spec.type ?? 'cold'}: only plans of type live are looked at.`;
    return { ...of, answer: 'CannotTell', message, findings: [] };
  }
  const ended = endOf({ spec, status });
  if (ended !== undefined) return { ...of, answer: 'NotReady', message: ended, findings: [] };
  if (observedGeneration === undefined || observedGeneration !== generation) {
    const message =
      'this version has not been looked at yet. Is the component live-migration installed, and does its function run?';
    return { ...of, answer: 'CannotTell', message, findings: [] };
  }
  const findings = conditions
    .flatMap((condition) => findingOf(condition) ?? [])
    .toSorted((one, other) => WEIGHTS.indexOf(one.weight) - WEIGHTS.indexOf(other.weight));
  return { ...of, ...answerOf(findings), findings };
}

const answerOf = ([first]: readonly PlanFinding[]): Pick<PlanReport, 'answer' | 'message'> =>
  ANSWER[first?.weight ?? 'warns'];

/** The answer by the heaviest finding. */
const ANSWER: Readonly<Record<PlanFinding['weight'], Pick<PlanReport, 'answer' | 'message'>>> = {
  stops: { answer: 'NotReady', message: 'no Migration of it starts.' },
  holds: {
    answer: 'Held',
    message: 'a Migration of it would start, and the VMs that are held would not move.',
  },
  warns: { answer: 'Ready', message: 'a Migration of it would start.' },
};

/** The end of a plan that `live` no longer evaluates; undefined: the plan is open. */
function endOf({ spec, status }: Pick<Plan, 'spec' | 'status'>): string | undefined {
  if (spec.archived === true) return 'it is archived: no Migration of it starts.';
  return has(status, LIVE_CONDITION.succeeded)
    ? 'all its VMs have moved: no Migration of it starts.'
    : undefined;
}

function findingOf({
  category,
  type,
  message,
  suggestion,
  items = [],
}: LiveCondition): PlanFinding | undefined {
  const weight = HOLDS.includes(type) ? 'holds' : WEIGHT[category];
  if (weight === undefined) return undefined;
  const about = items.map((item) => shown(item));
  return { weight, condition: shown(type), about, message: shown(message), suggestion: shown(suggestion) };
}

/** Renders a row for each finding, then the result, for people; pure. */
export function planTable(report: PlanReport, sheet: Sheet): string[] {
  const { findings, namespace, name, message } = report;
  const rows = findings.map(({ weight, condition, about, ...texts }): Cell[] => [
    { text: weight, style: weight === 'stops' ? 'red' : 'yellow' },
    condition,
    about.join(', '),
    [texts.message, texts.suggestion].filter((text) => text !== '').join(' '),
  ]);
  const table =
    rows.length === 0 ? [] : [...renderTable(['WEIGHT', 'CONDITION', 'ABOUT', 'WHY'], rows, sheet), ''];
  return [...table, `plan ${namespace}/${name}: ${message}`];
}
