import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aView } from '../../test/support/builders/snapshot.ts';
import { readView } from '../../functions/cluster/view.ts';
import type { View } from '../../functions/domain/view.ts';
import { viewRoute, type ViewSource } from './view-route.ts';

/** A class, as the guard's own: the route must not take its method off it. */
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

test('what the guard answers is what a function reads', async () => {
  const view = aView({ open: { waiting: ['uid-of-mig0'], status: true }, incumbent: 'remove it' });
  source.views.set('tenant', view);
  expect(await readView(url, 'tenant')).toEqual(view);
});

test('not every watch has listed yet: 503, and the function goes on without', async () => {
  expect((await fetch(`${url}?namespace=tenant`)).status).toBe(503);
  expect(await readView(url, 'tenant')).toBeUndefined();
});

test.each(['', '?namespace=', '?namespace=a/b', '?namespace=A', '?namespace=a&namespace=b'])(
  '%s: 400',
  async (query) => {
    expect((await fetch(`${url}${query}`)).status).toBe(400);
  },
);

test('no guard is there: the function goes on without', async () => {
  expect(await readView('http://127.0.0.1:1/view', 'tenant')).toBeUndefined();
});
