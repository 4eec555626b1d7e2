/** Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats), as much of it as we say. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** What is said of a metric, whatever it stands at. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
}

export interface Sample {
  /** Only of a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
  /** Values may hold anything; names are ours. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly metric: Metric;
  readonly samples: readonly Sample[];
}

/** Pure: every family with its HELP and TYPE, in the order given. */
export const expose = (families: readonly Family[]): string => families.map(familyText).join('');

function familyText({ metric: { name, type, help }, samples }: Family): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${numberText(value)}`,
  );
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** A value's backslash, quote and line feed; nothing else is special in one. */
const escapeLabel = (value: string): string => escapeHelp(value).replaceAll('"', '\\"');

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

/** As Go's ParseFloat reads it: also what a bucket's `le` says. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}
