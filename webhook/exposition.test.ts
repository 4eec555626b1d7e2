import fc from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { expose, numberText, type Family, type Metric } from './exposition.ts';

const GAUGE: Metric = { name: 'm', type: 'gauge', help: 'h' };

/** As a scraper reads one sample's labels: by the rules, not by what wrote them. */
function parseLabels(line: string): Record<string, string> {
  const inner = /^[a-z_]+\{(.*)\} \S+$/s.exec(line)?.[1] ?? '';
  const pairs = [...inner.matchAll(/([a-z]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy)];
  expect(pairs.map(([pair]) => pair).join('')).toBe(inner);
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, unescape(value)]));
}

const unescape = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));

/** Mostly what has to be escaped. */
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'n', ',', '}', ' ', 'ü') }),
);

describe('the text format', () => {
  test('a family as the format describes it', () => {
    const families: Family[] = [
      {
        metric: { name: 'mtq_x_total', type: 'counter', help: 'Of \\ two\nlines, "quoted".' },
        samples: [{ labels: { type: 'C:\\DIR\\"a"\n', of: 'b' }, value: 3 }],
      },
      { metric: GAUGE, samples: [{ value: 0.5 }] },
      { metric: { ...GAUGE, name: 'none' }, samples: [] },
    ];
    expect(expose(families)).toBe(
      [
        String.raw`# HELP mtq_x_total Of \\ two\nlines, "quoted".`,
        '# TYPE mtq_x_total counter',
        String.raw`mtq_x_total{type="C:\\DIR\\\"a\"\n",of="b"} 3`,
        '# HELP m h',
        '# TYPE m gauge',
        'm 0.5',
        '# HELP none h',
        '# TYPE none gauge',
        '',
      ].join('\n'),
    );
  });

  test('whatever a label holds, it is one line, and is read as what it was', () => {
    fc.assert(
      fc.property(anyText, anyText, (first, second) => {
        const lines = expose([{ metric: GAUGE, samples: [{ labels: { first, second }, value: 1 }] }]).split(
          '\n',
        );
        expect(lines).toHaveLength(4);
        expect(parseLabels(lines[2] ?? '')).toEqual({ first, second });
      }),
    );
  });

  test('whatever a help says, it is one line, and is read as what it was', () => {
    fc.assert(
      fc.property(anyText, (help) => {
        const lines = expose([{ metric: { ...GAUGE, help }, samples: [] }]).split('\n');
        expect(lines).toHaveLength(3);
        expect(unescape(lines[0]?.slice('# HELP m '.length) ?? '')).toBe(help);
      }),
    );
  });

  test.each([
    [0, '0'],
    [2.5, '2.5'],
    [1e21, '1e+21'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [Number.NaN, 'NaN'],
  ])('%d is said as %s', (value, text) => {
    expect(numberText(value)).toBe(text);
  });
});
