import { ValueCounter, type Bounds } from './bounds.ts';
import { Unreachable } from './errors.ts';
import { CHUNK_BYTES } from './transport.ts';

const NEWLINE = 0x0a;

export interface CountedLine {
  readonly line: Buffer;
  /** The counter of its values. */
  readonly counter: ValueCounter;
}

/**
 * A watch is one JSON document a line; a line may come in several pieces, which are joined once. Throws Unreachable where a line is
 * longer than any object.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, bounds: Bounds): AsyncIterable<CountedLine> {
  const begun = new BegunLine(bounds);
  try {
    for await (const chunk of chunks) for (const line of begun.add(chunk)) yield line;
  } finally {
    begun.end();
  }
}

/** The pieces of a line that has not ended. */
class BegunLine {
  readonly #bounds: Bounds;
  #counter: ValueCounter;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.#counter = new ValueCounter(bounds.objectValues, bounds);
  }

  /** Yields the lines that end with this chunk. */
  *add(chunk: Buffer): Iterable<CountedLine> {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      const counted = this.end(chunk.subarray(from, to));
      from = to + 1;
      if (counted.line.length > 0) yield counted;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** Returns the whole line. Throws TooManyValues. */
  end(last: Buffer = Buffer.alloc(0)): CountedLine {
    const counter = this.#counter;
    const line = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#bounds.budget.free(this.#size);
    [this.#pieces, this.#size] = [[], 0];
    this.#counter = new ValueCounter(this.#bounds.objectValues, this.#bounds);
    counter.add(last);
    return { line, counter };
  }

  #keep(piece: Buffer): void {
    const { objectBytes, budget } = this.#bounds;
    const bytes = piece.length + CHUNK_BYTES;
    if (this.#size + bytes > objectBytes)
      throw new Unreachable('one object of a watch is larger than any should be');
    this.#counter.add(piece);
    budget.take(bytes);
    this.#pieces.push(piece);
    this.#size += bytes;
  }
}
