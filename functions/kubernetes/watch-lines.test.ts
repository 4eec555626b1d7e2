import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { OBJECT_BYTES, OWN_BOUNDS } from './bounds.ts';
import { Unreachable } from './errors.ts';
import { linesOf } from './watch-lines.ts';

/** The lines of a text that comes in pieces of so many bytes. */
async function lines(text: string, bytes: number): Promise<string[]> {
  const whole = Buffer.from(text);
  const pieces = Readable.from(
    Array.from({ length: Math.ceil(whole.length / bytes) }, (_, at) =>
      whole.subarray(at * bytes, (at + 1) * bytes),
    ),
  );
  const found: string[] = [];
  for await (const { line } of linesOf(pieces as AsyncIterable<Buffer>, OWN_BOUNDS))
    found.push(line.toString('utf8'));
  return found;
}

test.each([1, 2, 3, 100])('lines that come in pieces of %d bytes are whole', async (bytes) => {
  expect(await lines('{"é":1}\n\n{"ü€":2}\n{"not":"whole"', bytes)).toEqual(['{"é":1}', '{"ü€":2}']);
});

/** The time must not be that of the square of the length: that would take minutes. */
test('a long line costs no more than its length', async () => {
  const long = 'x'.repeat(OBJECT_BYTES / 2);
  const [line] = await lines(`${long}\n`, 512);
  expect(line === long).toBe(true);
});

test('a line that is longer than any object is an error', async () => {
  await expect(lines('x'.repeat(OBJECT_BYTES + 1), 64 * 1024)).rejects.toThrow(Unreachable);
});
