import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aMigration } from '../../test/support/builders/kubevirt.ts';
import { kept } from '../../test/support/builders/oversized.ts';
import { aView } from '../../test/support/builders/snapshot.ts';
import { LISTED_MIGRATIONS_TO_COME } from '../../functions/cluster/listed.ts';
import { readView } from '../../functions/cluster/view.ts';
import type { View } from '../../functions/domain/view.ts';
import { viewRoute, type ViewSource } from './view-route.ts';

/** A class like the guard's own, so that the test fails if the route detaches the method. */
class Source implements ViewSource {
  readonly views = new Map<string, View>();

  viewOf(namespace: string): View | undefined {
    return this.views.get(namespace);
  }
}

let source: Source;
let server: Server;
let url: string;

beforeEach(async () => {
  source = new Source();
  server = createServer(express().get('/view', viewRoute(source)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/view`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

test('a function reads the same view that the guard answers', async () => {
  const view = aView({
    migrations: kept(LISTED_MIGRATIONS_TO_COME, [aMigration()]),
    open: { queued: [], status: true },
    incumbent: 'remove it',
  });
  source.views.set('tenant', view);
  expect(await readView(url, 'tenant')).toEqual(view);
});

test('answers 503 until every watch has listed, and the function continues without a view', async () => {
  expect((await fetch(`${url}?namespace=tenant`)).status).toBe(503);
  expect(await readView(url, 'tenant')).toBeUndefined();
});

test.each(['', '?namespace=', '?namespace=a/b', '?namespace=A', '?namespace=a&namespace=b'])(
  'answers 400 to the query "%s"',
  async (query) => {
    expect((await fetch(`${url}${query}`)).status).toBe(400);
  },
);

test('without a guard the function continues without a view', async () => {
  expect(await readView('http://127.0.0.1:1/view', 'tenant')).toBeUndefined();
});
