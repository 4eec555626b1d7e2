import { beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, CONDITION, EVENT_REASON, LABEL } from '../../../functions/domain/names.ts';
import { loadScenarios, type Scenario } from '../../e2e/scenario.ts';

/** The kinds that a scenario watches (support/history.ts). */
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

test('each has a description, given.yaml and then.yaml', () => {
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

test('every name of our API group exists, because a misspelt name with null would always match', () => {
  const text = JSON.stringify(scenarios);
  const keys = [...text.matchAll(/"(mtq\.kubevirt\.io\/[a-z-]+)":/g)].map(([, key = '']) => key);
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => !KEYS.includes(key))).toEqual([]);
});

test('Events and conditions have reasons that we write', () => {
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
