import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { runProgram, SUBCOMMANDS } from './program.ts';
import { Terminal } from './terminal/terminal.ts';

const COLUMNS = 80;

let said: string;

beforeEach(() => {
  said = '';
  jest.replaceProperty(process, 'env', { HOME: '/none' });
  // commander writes here, not to the Terminal.
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
});

afterEach(() => {
  jest.restoreAllMocks();
});

test.each<[string, string[], RegExp]>([
  ['no name', ['explain'], /missing required argument 'migration'/],
  ['an unknown format', ['explain', 'x', '-o', 'xml'], /Allowed choices are json, yaml/],
  ['an unknown context', ['explain', 'x', '--context', 'nowhere'], /no API server by the kubeconfig/],
  ['no kubeconfig', ['status'], /no API server by the kubeconfig: there is none at the path in --kubeconfig/],
  [
    'no TLS',
    ['status', '--server', 'http://localhost:1'],
    /error: the API server does not answer.*: check --server/,
  ],
  ['an empty name', ['unlock', ''], /an argument is empty, as of a variable that is not set/],
  [
    'a kind alone',
    ['explain', 'vmim/', '--server', 'http://localhost:1'],
    /explain takes a migration, not vmim/,
  ],
  [
    'two namespaces',
    ['preflight', 'namespace', 'a', '-n', 'b', '--server', 'http://localhost:1'],
    /which namespace: a, or b of -n\?/,
  ],
  [
    'no time',
    ['status', '--request-timeout', '1x', '--server', 'http://localhost:1'],
    /--request-timeout 1x: must be a time with ms, s, m or h/,
  ],
  [
    'a time that is over',
    ['status', '--request-timeout', '1m1.5s2ms', '--server', 'http://localhost:1'],
    /error: the API server does not answer.*: check --server/,
  ],
  ['a file that is none', ['explain', 'x', '--kubeconfig', '/none'], /no API server by the kubeconfig/],
])('exits with 2 for %s, and says why', async (_what, args, message) => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process);
  expect(await runProgram(args, terminal)).toBe(2);
  expect(stdout.read()).toBeNull();
  expect(said + String(stderr.read() ?? '')).toMatch(message);
});

describe('--help', () => {
  test.each([[], ...SUBCOMMANDS.map((subcommand) => [subcommand.declare().name()])].map((args) => [args]))(
    'of %j is wrapped once, to 80 columns where there is no terminal',
    async (args) => {
      let help = '';
      jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
        help += String(text);
        return true;
      });
      const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
      expect(await runProgram([...args, '--help'], new Terminal(streams as unknown as NodeJS.Process))).toBe(
        0,
      );
      const [text = ''] = help.split('\nExamples:\n');
      const lines = text.split('\n');
      expect(lines.filter((line) => line.length > COLUMNS && !line.startsWith('Usage:'))).toEqual([]);
      // A line of prose ends where the first word of the next one had no room.
      const early = lines.filter((line, index) => {
        const [word = ''] = /^\S+/.exec(lines[index + 1] ?? '') ?? [];
        return /^[^\s].*[\w,]$/.test(line) && word !== '' && line.length + 1 + word.length <= COLUMNS;
      });
      expect(early).toEqual([]);
    },
  );
});
