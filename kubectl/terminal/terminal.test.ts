import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Terminal } from './terminal.ts';

class Streams {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly terminal: Terminal;

  constructor(isTTY: boolean, columns = 100) {
    Object.assign(this.stdout, { isTTY, columns });
    this.terminal = new Terminal(this as unknown as NodeJS.Process);
  }

  get text(): string {
    return ((this.stdout.read() as Buffer | null) ?? '').toString();
  }
}

describe('a pipe', () => {
  test('gets no colours', () => {
    const streams = new Streams(false);
    streams.terminal.print(`a ${streams.terminal.paint('red', 'text')}`);
    expect(streams.text).toBe('a text\n');
  });

  test('has 80 columns', () => {
    expect(new Streams(false).terminal.columns).toBe(80);
  });

  test('gets an empty line where a terminal is cleared', () => {
    const streams = new Streams(false);
    streams.terminal.clear();
    expect(streams.text).toBe('\n');
  });
});

describe('a terminal', () => {
  test('has its own columns, or 80 where it does not know', () => {
    expect(new Streams(true).terminal.columns).toBe(100);
    expect(new Streams(true, 0).terminal.columns).toBe(80);
  });

  test.each([
    ['a cleared screen', 'a\u001b[2Jb', String.raw`a\u{1b}[2Jb`],
    ['a title', 'a\u001b]0;title\u0007b', String.raw`a\u{1b}]0;title\u{7}b`],
    ['a carriage return', 'a\rb', String.raw`a\u{d}b`],
    ['an 8-bit escape', 'a\u009b2Jb', String.raw`a\u{9b}2Jb`],
    ['a colour', 'a\u001b[31mb\u001b[39m', String.raw`a\u{1b}[31mb\u{1b}[39m`],
    ['two lines', 'a\nb', String.raw`a\u{a}b`],
    ['a tab', 'a\tb', String.raw`a\u{9}b`],
  ])('shows %s that another party wrote as text', (_, text, want) => {
    const streams = new Streams(true);
    streams.terminal.print(text);
    streams.terminal.redraw([text]);
    expect(streams.text).toBe(`${want}\n${want}\n`);
  });

  test('prints a candidate with a tab before its description', () => {
    const streams = new Streams(true);
    streams.terminal.printCandidates(['one\tthe first\u001b[8m', ':4']);
    expect(streams.text).toBe(`one\tthe first${String.raw`\u{1b}`}[8m\n:4\n`);
  });

  test('paints only what the plugin paints', () => {
    const streams = new Streams(true);
    streams.terminal.print(['1', `${streams.terminal.paint('red', 'a\u001b[8m')} b`]);
    expect(stripVTControlCharacters(streams.text)).toBe(`1\n${String.raw`a\u{1b}[8m b`}\n`);
  });

  test('redraws in the place of the last lines', () => {
    const streams = new Streams(true);
    streams.terminal.redraw(['one', 'two']);
    expect(streams.text).toBe('one\ntwo\n');
    streams.terminal.redraw(['three']);
    expect(streams.text).toBe('\u001b[2F\u001b[Jthree\n');
    streams.terminal.redraw([]);
    expect(streams.text).toBe('\u001b[1F\u001b[J');
  });
});

test.each([
  ['an end of the input', '\u0004', false],
  ['Ctrl-C', '\u0003', false],
  ['no', 'no\n', false],
  ['yes', 'yes\n', true],
])('a question that gets %s is answered', async (_, typed, want) => {
  const streams = new Streams(true);
  Object.assign(streams.stdin, { isTTY: true, setRawMode: () => streams.stdin });
  Object.assign(streams.stderr, { isTTY: true, columns: 80 });
  const answer = streams.terminal.confirm('Sure?');
  streams.stdin.write(typed);
  await expect(answer).resolves.toBe(want);
});
