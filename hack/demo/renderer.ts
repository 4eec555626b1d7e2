import { CHECKS, type CheckResult } from './checks/check-result.ts';
import type { StoppedAt } from './step-table.ts';
import type { Colours } from './colours.ts';
import type { Scenario } from './scenarios.ts';
import type { Line, LockWindow, Span } from './timeline.ts';

/** Colours and the width of a line. */
export interface RenderOptions {
  readonly colours: Colours;
  /** Number of characters. */
  readonly width: number;
}

/** The timeline of one scenario. */
export interface ScenarioTimeline {
  readonly namespaces: readonly string[];
  readonly lines: readonly Line[];
  readonly windows: readonly LockWindow[];
  /** The time of the first refusal by a quota, milliseconds since 1970; undefined: no quota refused. */
  readonly blockedAt: number | undefined;
  readonly endedAt: number;
  /** The number of function runs without a change. */
  readonly quiet: number;
}

export const headline = (number: number, { title, about }: Scenario, { colours }: RenderOptions): string =>
  `\n${colours.bold(`${String(number)}  ${title}`)}\n   ${colours.dim(about)}\n`;

/** Renders the timeline of a scenario, with a bar for the lock windows of each namespace. */
export function renderTimeline(timeline: ScenarioTimeline, renderOptions: RenderOptions): string {
  const { namespaces, lines, blockedAt, quiet } = timeline;
  const { colours } = renderOptions;
  const zero = blockedAt ?? lines[0]?.at ?? 0;
  const rails = new Rails(namespaces);
  const longest = Math.max(...namespaces.map((name) => name.length));
  const rows = lines.map((line) => {
    const ms = String(Math.round(line.at - zero)).padStart(7);
    const where = namespaces.length > 1 ? `${line.namespace.padEnd(longest)}  ` : '';
    return describe(line, { ...renderOptions, before: `${ms}  ${rails.next(line)}  ${where}` });
  });
  const since = blockedAt === undefined ? 'ms' : 'ms since blocked';
  return [
    '',
    colours.dim(`     ${since}`),
    ...rows,
    ...(quiet === 0 ? [] : [colours.dim(`         + ${String(quiet)} runs that found nothing to do`)]),
    '',
    ...bars(timeline, zero, colours),
    '',
  ].join('\n');
}

const WHO = 16;
const RUN = 12;
const MIN_TEXT_WIDTH = 40;

/** "  604  │  feasibility      warm 592 ms  migrate-vm: FitsWithRaise, …"; a long text continues below. */
export function describe(
  { actor, run, text }: Line,
  renderOptions: RenderOptions & { readonly before: string },
): string {
  const { colours, width, before } = renderOptions;
  const start = run === undefined ? '' : `${run.start} ${String(Math.round(run.ms))} ms`;
  const name = actor.padEnd(WHO);
  const indent = before.length + WHO + RUN + 3;
  const [first = '', ...rest] = wrap(text, Math.max(width - indent, MIN_TEXT_WIDTH));
  const head = `${before}${run === undefined ? name : colours.bold(name)} ${colours.dim(start.padEnd(RUN))}  ${first}`;
  return [head, ...rest.map((line) => ' '.repeat(indent) + line)].join('\n');
}

/** Renders where a scenario stopped, and why. */
export function renderStop(
  { milestone, namespace, message }: StoppedAt,
  { colours, width }: RenderOptions,
): string {
  const head = `   ${colours.bad('✗ stopped at')} ${colours.bold(milestone)} in namespace ${namespace}: it did not happen in time.`;
  return [head, ...wrap(message, width - 5).map((line) => `     ${line}`), ''].join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Rails show a column for each namespace, visible while it is locked. */
class Rails {
  readonly #namespaces: readonly string[];
  readonly #locked = new Set<string>();

  constructor(namespaces: readonly string[]) {
    this.#namespaces = namespaces;
  }

  next({ what, namespace }: Line): string {
    const isOf = (name: string, edge: string): boolean => name === namespace && what === edge;
    if (what === 'unlocked') this.#locked.delete(namespace);
    const bar = this.#namespaces.map((name) => {
      if (isOf(name, 'locked')) return '┌';
      if (isOf(name, 'unlocked')) return '└';
      return this.#locked.has(name) ? '│' : ' ';
    });
    if (what === 'locked') this.#locked.add(namespace);
    return bar.join('');
  }
}

const BAR = 48;

function bars({ windows, namespaces, endedAt }: ScenarioTimeline, zero: number, colours: Colours): string[] {
  if (windows.length === 0) return [colours.dim('   never locked')];
  const cell = (at: number): number => Math.round(((at - zero) / Math.max(endedAt - zero, 1)) * BAR);
  const longest = Math.max(...namespaces.map((name) => name.length));
  return namespaces.map((namespace) => {
    const own = windows.filter((window) => window.namespace === namespace);
    const isIn = (index: number, span: Span | undefined): boolean =>
      span !== undefined && cell(span.from) <= index && index < Math.max(cell(span.to), cell(span.from) + 1);
    const bar = Array.from({ length: BAR }, (_, index) => {
      if (own.some(({ raised }) => isIn(index, raised))) return '█';
      return own.some((window) => isIn(index, window)) ? '▒' : '·';
    });
    const times = own.map((window) => durations(window, zero)).join('; ');
    return `   ${namespace.padEnd(longest)}  ${colours.accent(bar.join(''))}  ${times}`;
  });
}

function durations({ from, to, raised }: LockWindow, zero: number): string {
  const span = `${String(Math.round(from - zero))} → ${String(Math.round(to - zero))}`;
  const more = raised === undefined ? '' : `, █ raised ${String(Math.round(raised.to - raised.from))}`;
  return `▒ locked ${String(Math.round(to - from))} ms (${span})${more}`;
}

const COLUMN = 18;
const TITLES: Readonly<Record<CheckResult['check'], string>> = {
  migrations: 'migrations',
  quotas: 'quotas as before',
  namespace: 'unlocked',
  status: 'VMMRQ status',
  events: 'Events',
};

/** A table with a row for each namespace, a column for each check, and the problems below. */
export function table(checkResults: readonly CheckResult[], { colours }: RenderOptions): string {
  const namespaces = [...new Set(checkResults.map(({ namespace }) => namespace))];
  const longest = Math.max(...namespaces.map((name) => name.length), 'namespace'.length);
  const cell = (namespace: string, check: string): string => {
    const found = checkResults.find((one) => one.namespace === namespace && one.check === check);
    const mark = found?.wrong.length === 0 ? colours.good('✓') : colours.bad('✗');
    return mark + ' '.repeat(COLUMN - 1);
  };
  const row = (name: string): string =>
    `   ${name.padEnd(longest)}  ${CHECKS.map((check) => cell(name, check)).join('')}`.trimEnd();
  const wrong = checkResults.flatMap(({ namespace, check, wrong: lines }) =>
    lines.map((line) => `   ${colours.bad('✗')} ${namespace}, ${TITLES[check]}: ${line}`),
  );
  const head = CHECKS.map((check) => TITLES[check].padEnd(COLUMN)).join('');
  return [
    colours.dim(`   ${'namespace'.padEnd(longest)}  ${head}`.trimEnd()),
    ...namespaces.map(row),
    ...wrong,
  ].join('\n');
}
