import { TooMuch } from './errors.ts';
import { OBJECT_BYTES } from './one-object.ts';

const NEWLINE = 0x0a;

/**
 * A watch is one JSON document a line; a line may come in several pieces, which are joined once. Throws TooMuch where a line is
 * longer than any object.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncIterable<string> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...pieces, chunk.subarray(from, to)]).toString('utf8');
      [pieces, size, from] = [[], 0, to + 1];
      if (line !== '') yield line;
    }
    if (from === chunk.length) continue;
    pieces.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > OBJECT_BYTES) throw new TooMuch('one object of a watch is larger than any should be');
  }
}
