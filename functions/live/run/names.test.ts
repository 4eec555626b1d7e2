import { expect, test } from '@jest/globals';
import { aVm, RUN } from '../../../test/support/builders/live.ts';
import { hookName, isOfRun, migrationIdOf, runLabels, vmimName } from './names.ts';

const labelled = (labels: Record<string, string>): ReturnType<typeof aVm> =>
  aVm((vm) => ({ ...vm, metadata: { ...vm.metadata, labels } }));

test('every name is a label’s value, and other for another run, VM, attempt or step', () => {
  const others = [
    RUN,
    { ...RUN, migration: `${RUN.migration.slice(0, -1)}x` },
    { ...RUN, vm: `x${RUN.vm.slice(1)}` },
  ];
  const names = others.flatMap((run) => [
    vmimName(run, 1),
    vmimName(run, 999),
    hookName(run, 'PreHook'),
    hookName(run, 'PostHook'),
  ]);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
});

test('the id of a migration has the whole uids, and ends in the attempt', () => {
  expect(migrationIdOf(RUN, 3)).toBe(`${RUN.migration}-${RUN.vm}-3`);
});

test('an object is of the run by both labels', () => {
  expect(isOfRun(labelled(runLabels(RUN)), RUN)).toBe(true);
  expect(isOfRun(labelled(runLabels({ ...RUN, migration: 'other' })), RUN)).toBe(false);
  expect(isOfRun(labelled(runLabels({ ...RUN, vm: 'other' })), RUN)).toBe(false);
  expect(isOfRun(aVm(), RUN)).toBe(false);
});

test("none of the labels is Forklift's, by which its clean-up deletes", () => {
  expect(Object.keys(runLabels(RUN)).filter((key) => ['plan', 'migration', 'vmID'].includes(key))).toEqual(
    [],
  );
});
