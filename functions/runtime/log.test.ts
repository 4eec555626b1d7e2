import { afterEach, expect, jest, test } from '@jest/globals';
import { newLog } from './log.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('a line has no character that hides or turns its rest', () => {
  const lines: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  newLog('info', {})('info', 'for \u202E\u009B8mvms', { about: ['\u0085\u{E0041}', 7] });
  expect(lines.join('')).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    ...{ message: 'for \u202E\u009B8mvms', about: ['\u0085\u{E0041}', 7] },
  });
});

test('a line has each text of its fields in at most 2,000 characters', () => {
  const lines: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  const forged = 'x'.repeat(8 * 1024 * 1024);
  const log = newLog('info', { process: 'guard' });
  log('info', forged, { name: forged, about: { names: [forged] }, resource: 'pods' });
  log('debug', 'not written');
  expect(lines).toHaveLength(1);

  const cut = `${'x'.repeat(2_000)}…`;
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    ...{ level: 'info', process: 'guard', resource: 'pods' },
    ...{ message: cut, name: cut, about: { names: [cut] } },
  });
});
