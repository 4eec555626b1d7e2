import type { LiveCondition } from './forklift.ts';
import { LIVE_CONDITION, type LiveConditionType } from './names.ts';

/** What holds of an object: a condition without its time. */
export type Finding = Omit<LiveCondition, 'type' | 'status' | 'lastTransitionTime'> & {
  readonly type: LiveConditionType;
};

/** A problem that keeps an object from being used. `suggestion`: what to do. */
export const critical = (
  type: LiveConditionType,
  reason: string,
  text: Pick<LiveCondition, 'message' | 'suggestion' | 'items'>,
): Finding => ({ type, category: 'Critical', reason, ...text });

/** A problem that several things may have. */
export interface Problem {
  readonly type: LiveConditionType;
  readonly reason: string;
  readonly message: string;
  /** What to do. */
  readonly suggestion: string;
  /** Left out: Critical. */
  readonly category?: LiveCondition['category'];
}

/** The problem, with the things that have it; none: nothing has. */
export const findingOf = (items: readonly string[], problem: Problem): Finding[] =>
  items.length === 0 ? [] : [{ category: 'Critical', ...problem, items: [...items] }];

const BLOCKING: readonly LiveCondition['category'][] = ['Critical', 'Error'];

export const isBlocking = ({ category }: Pick<LiveCondition, 'category'>): boolean =>
  BLOCKING.includes(category);

/** The findings, and Ready with this message where none of them blocks. */
export const withReady = (findings: readonly Finding[], message: string): readonly Finding[] =>
  findings.some(isBlocking)
    ? findings
    : [...findings, { type: LIVE_CONDITION.ready, category: 'Required', message }];

/**
 * The conditions of an object by what holds now. Durable ones stay; the others go when they do not hold. One that says the same as
 * before keeps its time. `now`: RFC 3339.
 */
export function nextConditions(
  before: readonly LiveCondition[],
  findings: readonly Finding[],
  now: string,
): LiveCondition[] {
  const next = findings.map((finding): LiveCondition => {
    const known = before.find((each) => each.reason === finding.reason && isOfSameKind(each, finding));
    return { ...finding, status: 'True', lastTransitionTime: known?.lastTransitionTime ?? now };
  });
  const kept = before.filter(
    ({ type, durable }) => durable === true && !findings.some((finding) => finding.type === type),
  );
  return [...kept, ...next];
}

/** A VM that is blocked waits for longer for the same. */
const isOfSameKind = (one: Pick<LiveCondition, 'type'>, other: Pick<LiveCondition, 'type'>): boolean =>
  one.type === other.type || (saysWait(one) && saysWait(other));

/** Whether it says what a VM waits for. */
export const saysWait = ({ type }: Pick<LiveCondition, 'type'>): boolean =>
  type === LIVE_CONDITION.waiting || type === LIVE_CONDITION.blocked;

/** The condition by which a VM says that it waits for this; undefined: it does not. */
export const waitFor = (
  conditions: readonly LiveCondition[] | undefined,
  reason: string,
): LiveCondition | undefined => conditions?.find((each) => saysWait(each) && each.reason === reason);

/** Whether an object has the condition. */
export const has = (
  status: { readonly conditions?: readonly Pick<LiveCondition, 'type' | 'status'>[] } | undefined,
  wanted: LiveConditionType,
): boolean => (status?.conditions ?? []).some(({ type }) => type === wanted);
