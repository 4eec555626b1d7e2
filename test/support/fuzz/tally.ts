import { OTHER_KEYS, POD_KEYS, SCOPES } from './cases.ts';
import type { FuzzNamespace } from './world.ts';

/** Whether `lock` would lock, and whether a raise helps: refused before it, admitted after. */
export interface Cells {
  readonly lockedAndHelped: readonly FuzzNamespace[];
  readonly lockedWithoutEffect: readonly FuzzNamespace[];
  readonly leftThoughItHelps: readonly FuzzNamespace[];
  readonly leftRightly: readonly FuzzNamespace[];
}

export function cellsOf(all: readonly FuzzNamespace[]): Cells {
  const locks = ({ verdict }: FuzzNamespace): boolean => verdict?.verdict === 'FitsWithRaise';
  const helps = ({ before, after }: FuzzNamespace): boolean => before !== undefined && after === undefined;
  const where = (lock: boolean, help: boolean): FuzzNamespace[] =>
    all.filter((each) => locks(each) === lock && helps(each) === help);
  return {
    lockedAndHelped: where(true, true),
    lockedWithoutEffect: where(true, false),
    leftThoughItHelps: where(false, true),
    leftRightly: where(false, false),
  };
}

/** How many namespaces had a quota with this key, or of this scope. */
export function classesOf(all: readonly FuzzNamespace[]): Record<string, number> {
  const having = (holds: (each: FuzzNamespace['of']['quotas'][number]) => boolean): number =>
    all.filter(({ of }) => of.quotas.some(holds)).length;
  const keys = [...POD_KEYS, ...OTHER_KEYS].map((key) => [
    key,
    having((quota) => quota.keys.some((each) => each.key === key)),
  ]);
  const scopes = Object.keys(SCOPES).map((scope) => [
    `scope ${scope}`,
    having((quota) => quota.scope === scope),
  ]);
  return Object.fromEntries([...keys, ...scopes]) as Record<string, number>;
}

export function matrix(all: readonly FuzzNamespace[]): string {
  const { lockedAndHelped, lockedWithoutEffect, leftThoughItHelps, leftRightly } = cellsOf(all);
  const count = (list: readonly unknown[]): string => String(list.length).padStart(6);
  const reasons = Map.groupBy(all, ({ verdict }) => `${verdict?.verdict ?? '?'} ${verdict?.reason ?? ''}`);
  return [
    '                    a raise helps   it does not',
    `we lock             ${count(lockedAndHelped)}          ${count(lockedWithoutEffect)}`,
    `we do not           ${count(leftThoughItHelps)}          ${count(leftRightly)}`,
    ...[...reasons].map(([reason, list]) => `${count(list)}  ${reason}`),
    ...Object.entries(classesOf(all)).map(([name, number]) => `${String(number).padStart(6)}  ${name}`),
  ].join('\n');
}

/** For debugging: the case, the project's verdict, and the API server's answer. */
export const summaryOf = ({ name, of, verdict, before, after }: FuzzNamespace): unknown => ({
  name,
  verdict,
  before,
  after,
  of,
});
