import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { aMigration, receiving, withPriority } from '../../test/support/builders/kubevirt.ts';
import { named } from '../../test/support/builders/object.ts';
import { aView } from '../../test/support/builders/snapshot.ts';
import type { View } from '../domain/view.ts';
import type { Migration } from '../domain/objects.ts';
import { LISTED_MIGRATIONS_TO_COME } from './listed.ts';
import { readView } from './view.ts';

let server: http.Server | undefined;

afterEach(() => {
  server?.close();
});

/** What a function has of a guard that answers so. */
async function read(answer: string): Promise<View | undefined> {
  const guard = http.createServer((_, response) => void response.end(answer));
  server = guard;
  await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve));
  const { port } = guard.address() as AddressInfo;
  return readView(`http://127.0.0.1:${String(port)}/view`, 'tenant', 5_000);
}

const LONG = 'x'.repeat(4_096);
/** Migrations with too long fields, as the guard keeps them. */
const longest = (): Migration[] =>
  Array.from({ length: 100 }, (_, index) =>
    aMigration(named(`${'m'.repeat(249)}${String(index)}`), withPriority(LONG), receiving(LONG), manyPhases),
  ).flatMap((each) => LISTED_MIGRATIONS_TO_COME.trim(each)?.object ?? []);
const manyPhases = (migration: Migration): Migration => ({
  ...migration,
  status: {
    ...migration.status,
    phaseTransitionTimestamps: Array.from({ length: 100 }, () => ({
      phase: 'Scheduling',
      phaseTransitionTimestamp: '2026-01-01T00:00:00Z',
    })),
  },
});
const uids = (): string[] => Array.from({ length: 1_000 }, () => crypto.randomUUID());

test('reads the largest view: a hundred migrations of the longest, a thousand that are queued, no slot on any node', async () => {
  const names = Array.from({ length: 2_000 }, (_, node) => `${'n'.repeat(58)}${String(node)}`);
  const view = aView({
    migrations: longest(),
    open: { queued: uids(), status: false },
    left: { cluster: 0, node: 2, nodes: Object.fromEntries(names.map((name) => [name, 0])) },
  });
  expect(await read(JSON.stringify(view))).toEqual(view);
});

test.each([
  ['is no view', '{}'],
  ['is no JSON', '<html>'],
  ['is endless', ' '.repeat(2 * 1024 * 1024)],
])('takes an answer that %s for none', async (_what, answer) => {
  expect(await read(answer)).toBeUndefined();
});
