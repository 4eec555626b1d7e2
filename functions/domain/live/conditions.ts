import { shown } from '../foreign-text.ts';
import type { LiveCondition } from './forklift.ts';
import { LIVE_CONDITION, type LiveConditionType } from './names.ts';

/** A condition of an object without its time. */
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
  /** The advice to the user. */
  readonly suggestion: string;
  /** The category; Critical if left out. */
  readonly category?: LiveCondition['category'];
}

/** Returns the problem with the things that have it; empty if nothing has it. */
export const findingOf = (items: readonly string[], problem: Problem): Finding[] =>
  items.length === 0 ? [] : [{ category: 'Critical', ...problem, items: [...items] }];

const BLOCKING: readonly LiveCondition['category'][] = ['Critical', 'Error'];

export const isBlocking = ({ category }: Pick<LiveCondition, 'category'>): boolean =>
  BLOCKING.includes(category);

/** Returns the findings that block, each with the things that have it, as one text. */
export const problemsIn = (findings: readonly Finding[]): string[] =>
  findings
    .filter(isBlocking)
    .map(({ message, suggestion, items = [] }) =>
      [message, ...items, suggestion].map((text) => shown(text)).join(' '),
    );

/** Returns the findings, and Ready with this message if none of them blocks. */
export const withReady = (findings: readonly Finding[], message: string): readonly Finding[] =>
  findings.some(isBlocking)
    ? findings
    : [...findings, { type: LIVE_CONDITION.ready, category: 'Required', message }];

/**
 * Returns the conditions of an object by its present findings, each type once. Durable ones stay; the others go when they are no longer
 * found. A condition that is the same as before keeps its time. `now`: RFC 3339.
 */
export function nextConditions(
  before: readonly LiveCondition[],
  findings: readonly Finding[],
  now: string,
): LiveCondition[] {
  const next = onceEach(findings).map((finding): LiveCondition => {
    const known = before.find((each) => each.reason === finding.reason && isOfSameKind(each, finding));
    return {
      ...finding,
      ...shownTexts(finding),
      status: 'True',
      lastTransitionTime: known?.lastTransitionTime ?? now,
    };
  });
  const kept = before.filter(
    ({ type, durable }) => durable === true && !findings.some((finding) => finding.type === type),
  );
  return [...kept, ...next];
}

/** Joins the findings of one type. Waits of one type differ by their reason, and each counts from its own time. */
function onceEach(findings: readonly Finding[]): Finding[] {
  const joined = new Map<string, Finding>();
  for (const finding of findings) {
    const key = saysWait(finding) ? `${finding.type} ${shown(finding.reason)}` : finding.type;
    const known = joined.get(key);
    joined.set(key, known === undefined ? finding : joinedOf(known, finding));
  }
  return [...joined.values()];
}

/** Joins two findings. The first one's reason stays, unless only the second one blocks. */
function joinedOf(one: Finding, other: Finding): Finding {
  const [first, second] = isBlocking(other) && !isBlocking(one) ? [other, one] : [one, other];
  const message = joinedText(first.message, second.message);
  const suggestion = joinedText(first.suggestion, second.suggestion);
  const items = [...new Set([...(first.items ?? []), ...(second.items ?? [])])];
  return {
    ...second,
    ...first,
    ...(message !== '' && { message }),
    ...(suggestion !== '' && { suggestion }),
    ...(items.length > 0 && { items }),
  };
}

/** Returns both texts, unless one has the other; '' if there is none. */
function joinedText(...texts: readonly Finding['message'][]): string {
  const [first = '', second = ''] = texts.map((text) => shown(text, MAX_MESSAGE));
  return first.includes(second) ? first : `${first} ${second}`.trim();
}

/** Texts and items may name objects of the other cluster, whose API server may answer any name. */
const shownTexts = ({
  message,
  suggestion,
  items,
}: Finding): Pick<Finding, 'message' | 'suggestion' | 'items'> => ({
  ...(message === undefined ? {} : { message: shown(message, MAX_MESSAGE) }),
  ...(suggestion === undefined ? {} : { suggestion: shown(suggestion, MAX_MESSAGE) }),
  ...(items === undefined ? {} : { items: items.map((item) => shown(item)) }),
});

/** Characters. Kubernetes allows 32,768 in a condition. */
const MAX_MESSAGE = 10_000;

/** A VM that becomes Blocked still waits for the same thing. */
const isOfSameKind = (one: Pick<LiveCondition, 'type'>, other: Pick<LiveCondition, 'type'>): boolean =>
  one.type === other.type || (saysWait(one) && saysWait(other));

/** Whether the condition names what a VM waits for. */
export const saysWait = ({ type }: Pick<LiveCondition, 'type'>): boolean =>
  type === LIVE_CONDITION.waiting || type === LIVE_CONDITION.blocked;

/** Returns the condition of a VM that waits for this reason; undefined if there is none. */
export const waitFor = (
  conditions: readonly LiveCondition[] | undefined,
  reason: string,
): LiveCondition | undefined => conditions?.find((each) => saysWait(each) && each.reason === reason);

/** Whether an object has the condition. */
export const has = (
  status: { readonly conditions?: readonly Pick<LiveCondition, 'type' | 'status'>[] } | undefined,
  wanted: LiveConditionType,
): boolean => (status?.conditions ?? []).some(({ type }) => type === wanted);
