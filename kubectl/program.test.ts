import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { runProgram } from './program.ts';
import { Terminal } from './terminal/terminal.ts';

let said: string;

beforeEach(() => {
  said = '';
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
  ['a file that is none', ['explain', 'x', '--kubeconfig', '/none'], /no API server by the kubeconfig/],
])('exits with 2 for %s, and says why', async (_what, args, message) => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process);
  expect(await runProgram(args, terminal)).toBe(2);
  expect(stdout.read()).toBeNull();
  expect(said + String(stderr.read() ?? '')).toMatch(message);
});
