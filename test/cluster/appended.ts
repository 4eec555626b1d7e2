import { closeSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 256 * 1024;

/** A log that only grows, read line by line whenever somebody wants to know what is new in it. */
export class Appended {
  readonly #file: string;
  #offset: number;
  #rest = '';

  /** `from`: bytes that nobody asks for. */
  constructor(file: string, from = 0) {
    this.#file = file;
    this.#offset = from;
  }

  /** The lines that were finished since the last time. */
  read(): string[] {
    const descriptor = openSync(this.#file, 'r');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const pieces: Buffer[] = [];
    for (;;) {
      const size = readSync(descriptor, chunk, 0, CHUNK_BYTES, this.#offset);
      if (size === 0) break;
      pieces.push(Buffer.from(chunk.subarray(0, size)));
      this.#offset += size;
    }
    closeSync(descriptor);
    const lines = (this.#rest + Buffer.concat(pieces).toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
