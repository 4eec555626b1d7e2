import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { LastingProblem } from './lasting-problem.ts';

let lines: string[];
let problem: LastingProblem;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  problem = new LastingProblem((level, message) => void lines.push(`${level} ${message}`));
});

afterEach(() => {
  jest.useRealTimers();
});

const WAITING = 'warn waiting until this is over: no webhook';

test('a problem that heals is a warning', () => {
  problem.note('no webhook');
  jest.advanceTimersByTime(59_000);
  problem.note(undefined);
  jest.advanceTimersByTime(600_000);
  expect([lines, jest.getTimerCount()]).toEqual([[WAITING], 0]);
});

test('one that lasts is an error, once, however often it is noted', () => {
  for (let second = 0; second < 600; second += 1) {
    problem.note('no webhook');
    jest.advanceTimersByTime(1_000);
  }
  expect(lines).toEqual([WAITING, 'error no webhook']);
});

test('another problem, and the same one again, each have their own time', () => {
  problem.note('no webhook');
  jest.advanceTimersByTime(50_000);
  problem.note('no Secret');
  jest.advanceTimersByTime(50_000);
  problem.note('no webhook');
  jest.advanceTimersByTime(50_000);
  expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
  jest.advanceTimersByTime(10_000);
  expect(lines.at(-1)).toBe('error no webhook');
});
