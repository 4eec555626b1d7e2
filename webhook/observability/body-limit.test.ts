import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { discardBody, MAX_BODY_BYTES } from './body-limit.ts';

test('a body as long as it may be is dropped, and one that is longer ends its connection', () => {
  let isEnded = false;
  const socket = { destroy: () => (isEnded = true) };
  const request = Object.assign(new EventEmitter(), { socket });
  discardBody(request as unknown as IncomingMessage);
  request.emit('data', Buffer.alloc(MAX_BODY_BYTES - 1));
  request.emit('data', Buffer.alloc(1));
  expect(isEnded).toBe(false);
  request.emit('data', Buffer.alloc(1));
  expect(isEnded).toBe(true);
});
