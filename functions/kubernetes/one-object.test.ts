import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { OBJECT_BYTES, OWN_BOUNDS, parseAnswer, ValueCounter } from './bounds.ts';
import { UNLIMITED } from './budget.ts';
import { Unreachable } from './errors.ts';
import { Objects } from './one-object.ts';

const KIB = 1024;
const SILENCE_MS = 4_000;

interface Answer {
  readonly message: IncomingMessage;
  /** Sends the rest of it. */
  readonly end: () => void;
  /** Each timeout that was set on its socket. */
  readonly timeouts: number[];
}

/** An answer of which so many bytes have arrived, and the last one has not. */
function anAnswer(bytes: number): Answer {
  const timeouts: number[] = [];
  const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes) }));
  const last = body.length - 1;
  const stream = new Readable({ highWaterMark: 16 * KIB, read: () => undefined });
  for (let from = 0; from < last; from += 16 * KIB) {
    stream.push(body.subarray(from, Math.min(from + 16 * KIB, last)));
  }
  const socket = { timeout: SILENCE_MS, setTimeout: (ms: number) => timeouts.push(ms) };
  const end = (): void => {
    stream.push(body.subarray(last));
    stream.push(null);
  };
  return { message: Object.assign(stream, { socket }) as unknown as IncomingMessage, end, timeouts };
}

const arrived = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function isDone(read: Promise<unknown>): Promise<boolean> {
  for (let turn = 0; turn < 20; turn += 1) await arrived();
  return Promise.race([read.then(() => true), arrived().then(() => false)]);
}

test('large answers are read one after another, and small ones beside them', async () => {
  const objects = new Objects(OWN_BOUNDS);
  const [first, second, small] = [anAnswer(200 * KIB), anAnswer(200 * KIB), anAnswer(10 * KIB)];
  const reads = [first, second, small].map(({ message }) => objects.read<{ text: string }>(message));
  second.end();
  small.end();
  expect(await Promise.all(reads.slice(1).map(isDone))).toEqual([false, true]);
  first.end();
  const lengths = (await Promise.all(reads)).map(({ text }) => text.length);
  expect(lengths).toEqual([200 * KIB, 200 * KIB, 10 * KIB]);
});

test('a server that waits for its turn is not silent', async () => {
  const objects = new Objects(OWN_BOUNDS);
  const [first, second] = [anAnswer(200 * KIB), anAnswer(200 * KIB)];
  const reads = [first, second].map(({ message }) => objects.read(message));
  expect(await Promise.all(reads.map(isDone))).toEqual([false, false]);
  expect(second.timeouts).toEqual([0]);
  first.end();
  await reads[0];
  expect(await isDone(reads[1] ?? Promise.resolve())).toBe(false);
  expect(second.timeouts).toEqual([0, SILENCE_MS]);
  second.end();
  await reads[1];
});

test('an answer that breaks off ends its turn', async () => {
  const objects = new Objects(OWN_BOUNDS);
  const [first, second] = [anAnswer(200 * KIB), anAnswer(200 * KIB)];
  const [broken, next] = [objects.read(first.message), objects.read(second.message)];
  second.end();
  first.message.destroy(new Error('reset'));
  await expect(broken).rejects.toThrow('broke off');
  await next;
});

test('an object that is larger than any should be is an error', async () => {
  const { message, end } = anAnswer(OBJECT_BYTES);
  end();
  await expect(new Objects(OWN_BOUNDS).read(message)).rejects.toThrow(Unreachable);
});

test('of an answer that is no JSON, the error shows nothing', () => {
  const parse = (): unknown =>
    parseAnswer(Buffer.from('canary'), new ValueCounter(Infinity, OWN_BOUNDS), UNLIMITED);
  expect(parse).toThrow(Unreachable);
  expect(parse).not.toThrow(/canary/);
});
