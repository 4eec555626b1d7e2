import type { IncomingMessage } from 'node:http';

const MAX_PARTS = 1_000;
const MIN_PART_BYTES = 64;

/**
 * Calls `then` once at a body of very many, very small parts, and drops the rest: a chunk of one byte costs Node a stream's work, and no
 * client of this project sends such a body.
 */
export function onScatteredBody(request: IncomingMessage, then: () => void): void {
  let parts = 0;
  let bytes = 0;
  let isScattered = false;
  // Of the request itself: Express replaces its prototype.
  const push = request.push.bind(request);
  request.push = (part: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (isScattered) return true;
    parts += 1;
    bytes += part?.length ?? 0;
    isScattered = parts > MAX_PARTS && bytes < parts * MIN_PART_BYTES;
    if (!isScattered) return push(part, encoding);
    then();
    return true;
  };
}
