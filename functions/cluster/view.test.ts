import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { aView } from '../../test/support/builders/snapshot.ts';
import type { View } from '../domain/view.ts';
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

const uids = (): string[] => Array.from({ length: 1_000 }, () => crypto.randomUUID());

test('reads the largest view: a thousand migrations that wait and that are queued, while no node has a slot', async () => {
  const names = Array.from({ length: 2_000 }, (_, node) => `${'n'.repeat(58)}${String(node)}`);
  const view = aView({
    open: { waiting: uids(), queued: uids(), status: false },
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
