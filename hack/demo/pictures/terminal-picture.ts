import { colourOf, type Colour, type Theme } from './theme.ts';

/** A command, and what it prints on a terminal with colours. */
export interface Shown {
  readonly command: string;
  readonly output: string;
}

const SIZE = 12;
/** An upper bound for common monospaced fonts, since the reader's font is unknown. */
const CHARACTER = SIZE * 0.62;
const LINE = 18;
const MARGIN = 16;
const FONTS = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/** The foreground colours of ANSI that the plugin uses. Any other code ends a colour. */
const ANSI: Readonly<Record<string, Colour>> = { '31': 'red', '32': 'green', '33': 'amber' };
/** A code, and the text up to the next one. */
// eslint-disable-next-line no-control-regex -- escape sequences begin with a control character
const CODED = /\u001B\[(\d+)m([^\u001B]*)/g;

/** Renders a terminal as SVG. */
export function renderTerminal({ command, output }: Shown, theme: Theme): string {
  const lines = output.trimEnd().split('\n');
  const plain = lines.map(textOf);
  const width =
    Math.ceil(Math.max(command.length + 2, ...plain.map((line) => line.length)) * CHARACTER) + 2 * MARGIN;
  const height = (lines.length + 2) * LINE + 2 * MARGIN - LINE / 2;
  const fill = (colour: Colour): string => `fill="${colourOf(colour, theme)}"`;
  const row = (index: number, content: string): string =>
    `<text x="${String(MARGIN)}" y="${String(MARGIN + SIZE + index * LINE)}" ${fill('text')} xml:space="preserve">${content}</text>`;
  const frame = `x="0.5" y="0.5" width="${String(width - 1)}" height="${String(height - 1)}" rx="8"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" width="${String(width)}" height="${String(height)}" role="img" aria-labelledby="title description" font-family="${FONTS}" font-size="${String(SIZE)}">`,
    `<title id="title">${escaped(command)}</title>`,
    `<desc id="description">${escaped(plain.join('\n'))}</desc>`,
    `<rect ${frame} ${fill('background')} stroke="${colourOf('grid', theme)}"/>`,
    row(0, `<tspan ${fill('dim')}>$</tspan> <tspan font-weight="600">${escaped(command)}</tspan>`),
    ...lines.map((line, index) => row(index + 2, coloured(line, fill))),
    '</svg>',
    '',
  ].join('\n');
}

const textOf = (line: string): string => line.replaceAll(CODED, '$2');

const coloured = (line: string, fill: (colour: Colour) => string): string =>
  escaped(line).replaceAll(CODED, (_, code: string, text: string) => {
    const colour = ANSI[code];
    return colour === undefined ? text : `<tspan ${fill(colour)}>${text}</tspan>`;
  });

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
