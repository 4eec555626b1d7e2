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
