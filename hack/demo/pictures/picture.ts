import { colourOf, type Colour, type Theme } from './theme.ts';

/** The fields of a timeline's line that the picture needs. */
export interface PictureEvent {
  readonly what: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
  /** The run of the function that caused it. */
  readonly run?: {
    readonly service: string;
    readonly at: number;
    readonly ms: number;
    readonly start: string;
  };
}

const TIMESTAMPS = [
  { what: 'blocked', label: 'migration refused: quota full', colour: 'red' },
  { what: 'locked', label: 'namespace locked', colour: 'amber' },
  { what: 'raised', label: 'quota raised', colour: 'blue' },
  { what: 'admitted', label: 'target pod admitted', colour: 'green' },
  { what: 'lowered', label: 'quota restored', colour: 'blue' },
  { what: 'unlocked', label: 'namespace unlocked', colour: 'amber' },
] as const;
const FUNCTIONS = ['feasibility', 'lock', 'raise', 'lower', 'unlock'] as const;

const TITLE = 'One cycle: a live migration gets past a full quota';
const SOURCE =
  'Measured by npm run demo on one machine: a real API server, stand-ins for KubeVirt and Knative';
const FONTS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif";

const WIDTH = 860;
const MARGIN = 16;
const LEFT = 156;
const RIGHT = WIDTH - MARGIN;
const SIZE = 12;
const LABELS_TOP = 80;
const ROW = 18;
const LANE = 28;
const GAP = 16;

/** Renders one cycle of one migration as SVG. Throws when a key moment is missing. */
export const renderPicture = (events: readonly PictureEvent[], theme: Theme): string =>
  new Picture(events, theme).render();

class Picture {
  readonly #events: readonly PictureEvent[];
  readonly #theme: Theme;
  /** Milliseconds at the right edge: the last label ends there. */
  readonly #end: number;
  /** Texts are separate, because they must be above all lines and areas. */
  readonly #shapes: string[] = [];
  readonly #texts: string[] = [];

  constructor(events: readonly PictureEvent[], theme: Theme) {
    this.#events = events;
    this.#theme = theme;
    const last = this.#ms('unlocked');
    this.#end = Math.max(last / (1 - widthOf(`${last} ms  namespace unlocked`) / (RIGHT - LEFT)), 1);
  }

  render(): string {
    const labels = TIMESTAMPS.map((timestamp) => ({ ...timestamp, ms: this.#ms(timestamp.what) }));
    const rows = rowsOf(
      labels.map(({ ms, label }) => [this.#x(ms), this.#x(ms) + widthOf(`${ms} ms  ${label}`)]),
    );
    const amounts = amountsOf(this.#find('raised')?.text ?? '');
    const top = LABELS_TOP + Math.max(...rows) * ROW + GAP;
    const namespaceTop = top + LANE + GAP;
    const quotaTop = namespaceTop + LANE + GAP;
    const quotaBottom = quotaTop + Math.max(amounts.length, 2) * ROW + 8;
    const functionsTop = quotaBottom + GAP;
    const bottom = functionsTop + FUNCTIONS.length * ROW + GAP / 2;
    const height = bottom + 52;

    this.#axis(top - GAP / 2, bottom);
    for (const [index, { ms, label, colour }] of labels.entries()) {
      const y = LABELS_TOP + (rows[index] ?? 0) * ROW;
      this.#line(ms, [y - 10, bottom], colour);
      const name = `<tspan ${this.#fill(colour)} font-weight="600">${label}</tspan>`;
      this.#text([this.#x(ms) + 5, y], `${ms} ms  ${name}`);
    }
    this.#migration(top);
    this.#laneName(namespaceTop + LANE / 2, 'namespace');
    const locked = ['locked: other pods are refused', 'locked'];
    this.#bar([this.#ms('locked'), this.#ms('unlocked')], [namespaceTop, 'amber'], locked);
    this.#quota([quotaTop, quotaBottom], amounts);
    for (const [index, name] of FUNCTIONS.entries()) this.#run(functionsTop + index * ROW, name);

    const isWarm = this.#events.every(({ run }) => run === undefined || run.start === 'warm');
    const subtitle = `Milliseconds since the quota refused the target pod${isWarm ? '; the functions were running already' : ''}`;
    const timestamps = labels.map(({ ms, label }) => `${label} at ${ms} ms`).join('; ');
    const frame = `x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description" font-family="${FONTS}" font-size="${SIZE}">`,
      `<title id="title">${TITLE}</title>`,
      `<desc id="description">A timeline: ${timestamps}. The raise: ${amounts.join(', ')}.</desc>`,
      `<rect ${frame} ${this.#fill('background')} stroke="${this.#colour('grid')}"/>`,
      ...this.#shapes,
      ...this.#texts,
      `<text x="${MARGIN}" y="30" ${this.#fill('text')} font-size="16" font-weight="600">${TITLE}</text>`,
      `<text x="${MARGIN}" y="50" ${this.#fill('dim')}>${subtitle}</text>`,
      `<text x="${MARGIN}" y="${height - 14}" ${this.#fill('dim')} font-size="11">${SOURCE}</text>`,
      '</svg>',
      '',
    ].join('\n');
  }

  #axis(top: number, bottom: number): void {
    const step = [50, 100, 200, 500, 1_000, 2_000, 5_000].find((one) => this.#end / one <= 10) ?? 10_000;
    for (let ms = 0; ms < this.#end * 0.97; ms += step) {
      this.#line(ms, [top, bottom + 4], 'grid');
      this.#text([this.#x(ms), bottom + 18], `${ms} ms`, `${this.#fill('dim')} text-anchor="middle"`);
    }
  }

  #migration(top: number): void {
    const admitted = this.#ms('admitted');
    const done = this.#find('succeeded') === undefined ? '' : ` until ${this.#ms('succeeded')} ms`;
    const created = 'target pod created → running';
    this.#laneName(top + LANE / 2, 'KubeVirt migration');
    this.#bar([0, admitted], [top, 'red'], ['blocked']);
    this.#bar([admitted, this.#end], [top, 'green'], [created + done, created, 'running']);
  }

  #quota([top, bottom]: readonly [number, number], amounts: readonly string[]): void {
    const [raised, lowered] = [this.#x(this.#ms('raised')), this.#x(this.#ms('lowered'))];
    const line = `d="M${LEFT} ${bottom}H${raised}V${top}H${lowered}V${bottom}H${RIGHT}"`;
    this.#laneName((top + bottom) / 2, 'quota status.hard');
    this.#area(`<path ${line}`, 'blue');
    for (const [index, amount] of amounts.entries()) {
      const y = top + 14 + index * ROW;
      this.#text([raised - 8, y], amount, `${this.#fill('text')} text-anchor="end"`);
    }
    this.#text([lowered + 8, bottom - 8], 'original amounts again');
  }

  #run(top: number, name: string): void {
    const run = this.#events.find((event) => event.run?.service === name)?.run;
    this.#text([MARGIN, top + ROW / 2 + 4], `function ${name}`);
    if (run === undefined) return;
    const start = run.at - this.#start();
    const [from, to] = [this.#x(start), this.#x(start + run.ms)];
    const box = `x="${from}" y="${top + 3}" width="${Math.max(round(to - from), 2)}" height="${ROW - 6}" rx="2"`;
    this.#shapes.push(`<rect ${box} ${this.#fill('purple')}/>`);
    this.#text(
      [to + 6, top + ROW / 2 + 4],
      `${Math.round(run.ms)} ms${run.start === 'cold' ? ', cold' : ''}`,
    );
  }

  /** A bar with the first of the texts that fits into it. */
  #bar(
    [from, to]: readonly [number, number],
    [top, colour]: readonly [number, Colour],
    texts: readonly string[],
  ): void {
    const [x, width] = [this.#x(from), round(this.#x(to) - this.#x(from))];
    this.#area(`<rect x="${x}" y="${top}" width="${width}" height="${LANE}" rx="4"`, colour);
    const text = texts.find((one) => widthOf(one) <= width) ?? '';
    this.#shapes.push(`<text x="${x + 8}" y="${top + LANE / 2 + 4}" ${this.#fill('text')}>${text}</text>`);
  }

  /** A tinted area that hides the lines behind it. */
  #area(shape: string, colour: Colour): void {
    const tint = `${this.#fill(colour)} fill-opacity="0.18" stroke="${this.#colour(colour)}"`;
    this.#shapes.push(`${shape} ${this.#fill('background')}/>`, `${shape} ${tint}/>`);
  }

  #laneName(middle: number, name: string): void {
    this.#text([MARGIN, middle + 4], name, `${this.#fill('text')} font-weight="600"`);
  }

  #line(ms: number, [from, to]: readonly [number, number], colour: Colour): void {
    const x = this.#x(ms);
    const stroke = `stroke="${this.#colour(colour)}" stroke-opacity="0.6"`;
    this.#shapes.push(`<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" ${stroke}/>`);
  }

  /** A text with a halo, to be readable above a line. */
  #text([x, y]: readonly [number, number], content: string, attributes = this.#fill('dim')): void {
    const halo = `stroke="${this.#colour('background')}" stroke-width="4" paint-order="stroke"`;
    this.#texts.push(`<text x="${round(x)}" y="${y}" ${attributes} ${halo}>${content}</text>`);
  }

  #fill(colour: Colour): string {
    return `fill="${this.#colour(colour)}"`;
  }

  #colour(colour: Colour): string {
    return colourOf(colour, this.#theme);
  }

  #x(ms: number): number {
    return round(LEFT + Math.min(Math.max(ms / this.#end, 0), 1) * (RIGHT - LEFT));
  }

  /** Milliseconds since the refusal. */
  #ms(what: string): number {
    const found = this.#find(what);
    if (found === undefined) throw new Error(`the timeline has no event of the kind ${what}`);
    return Math.round(found.at - this.#start());
  }

  #start(): number {
    return this.#find('blocked')?.at ?? 0;
  }

  #find(what: string): PictureEvent | undefined {
    return this.#events.find((event) => event.what === what);
  }
}

/** The width with space on both sides. It is an upper bound for common system fonts, since the reader's font is unknown. */
const widthOf = (text: string): number => text.length * SIZE * 0.6 + GAP;

const round = (value: number): number => Math.round(value * 10) / 10;

/** A row for each label [from, to], below all earlier labels that overlap its start, so that no line crosses a label. */
function rowsOf(labels: readonly (readonly [number, number])[]): number[] {
  const rows: number[] = [];
  for (const [from] of labels) {
    const above = rows.filter((_row, earlier) => (labels[earlier]?.[1] ?? 0) > from);
    rows.push(Math.max(-1, ...above) + 1);
  }
  return rows;
}

/** The amounts in the text of a raise: "requests.memory 2Gi → 2.63Gi" for each resource. */
const amountsOf = (text: string): string[] =>
  [...text.matchAll(/([\w./-]+) ([\w.]+) → ([\w.]+)/g)].map(
    ([, resource = '', before = '', after = '']) => `${resource} ${shorten(before)} → ${shorten(after)}`,
  );

/** An amount of bytes in the usual unit of quotas. */
const shorten = (amount: string): string =>
  /^\d{7,}$/.test(amount) ? `${(Number(amount) / 2 ** 30).toFixed(2)}Gi` : amount;
