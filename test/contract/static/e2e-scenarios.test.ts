import { beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, CONDITION, EVENT_REASON, LABEL } from '../../../functions/domain/names.ts';
import { loadScenarios, type Scenario } from '../../e2e/scenario.ts';

/** What a scenario hears of (support/history.ts). */
const HEARD_OF = [
  'Event',
  'Namespace',
  'Pod',
  'ResourceQuota',
  'VirtualMachineInstance',
  'VirtualMachineInstanceMigration',
  'VirtualMachineMigrationResourceQuota',
];
const KEYS: readonly string[] = [...Object.values(ANNOTATION), ...Object.values(LABEL)];

let scenarios: Scenario[];

beforeAll(async () => {
  scenarios = await loadScenarios();
});

test('each says what it is about, what is given and what is then', () => {
  expect(scenarios.length).toBeGreaterThan(4);
  for (const { name, about, given, then } of scenarios) {
    expect([name, about]).toEqual([name, expect.stringMatching(/\w.+\.$/)]);
    expect([name, given.some(({ kind }) => kind === 'VirtualMachineInstanceMigration')]).toEqual([
      name,
      true,
    ]);
    expect([name, then.filter(({ kind }) => !HEARD_OF.includes(kind))]).toEqual([name, []]);
  }
});

test('no name of ours is misspelt: what is not there would be as expected for ever', () => {
  const text = JSON.stringify(scenarios);
  const keys = [...text.matchAll(/"(mtq\.kubevirt\.io\/[a-z-]+)":/g)].map(([, key = '']) => key);
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => !KEYS.includes(key))).toEqual([]);
});

test('Events and conditions are those that we write', () => {
  const then = scenarios.flatMap((scenario) => scenario.then as readonly Said[]);
  const reasons = then.flatMap(({ kind, reason }) => (kind === 'Event' ? [reason] : []));
  expect(Object.values(EVENT_REASON)).toEqual(expect.arrayContaining([...new Set(reasons)]));
  const types = then.flatMap(({ status }) => status?.conditions?.map(({ type }) => type) ?? []);
  expect(Object.values(CONDITION)).toEqual(expect.arrayContaining([...new Set(types)]));
  expect([reasons.length > 0, types.length > 0]).toEqual([true, true]);
});

interface Said {
  readonly kind: string;
  readonly reason?: string;
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}
