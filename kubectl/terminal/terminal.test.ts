import { PassThrough } from 'node:stream';
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
    expect(new Streams(false).terminal.paint('red', 'text')).toBe('text');
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
    ['a cleared screen', 'a\u001b[2Jb', 'a[2Jb'],
    ['a title', 'a\u001b]0;title\u0007b', 'a]0;titleb'],
    ['a carriage return', 'a\rb', 'ab'],
    ['an 8-bit escape', 'a\u009b2Jb', 'a2Jb'],
    ['a colour', 'a\u001b[31mb\u001b[39m', 'a\u001b[31mb\u001b[39m'],
    ['two lines', 'a\nb', 'a\nb'],
    ['a tab (completion)', 'a\tb', 'a\tb'],
  ])('prints of %s only what is safe', (_, text, want) => {
    const streams = new Streams(true);
    streams.terminal.print(text);
    streams.terminal.redraw([text]);
    expect(streams.text).toBe(`${want}\n${want}\n`);
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
