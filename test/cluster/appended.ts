import { closeSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 256 * 1024;

/** A growing log, from which each read returns the new lines. */
export class Appended {
  readonly #file: string;
  #offset: number;
  #rest = '';

  /** `from`: number of bytes to skip. */
  constructor(file: string, from = 0) {
    this.#file = file;
    this.#offset = from;
  }

  /** The lines that were completed since the last read. */
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
