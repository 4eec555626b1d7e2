import { closeSync, openSync, readSync, watch } from 'node:fs';

/** Gives every line that is appended to `file` (which must exist) to `onLine`, until `finish`, which gives the rest. */
export function followLines(file: string, onLine: (line: string) => void): { finish(): void } {
  const descriptor = openSync(file, 'r');
  const decoder = new TextDecoder();
  const chunk = Buffer.alloc(64 * 1024);
  let rest = '';

  const read = (): void => {
    for (let size = readSync(descriptor, chunk); size > 0; size = readSync(descriptor, chunk)) {
      const lines = (rest + decoder.decode(chunk.subarray(0, size), { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(onLine);
    }
  };

  const watcher = watch(file, { persistent: false }, read);
  return {
    finish: () => {
      watcher.close();
      read();
      closeSync(descriptor);
      if (rest !== '') onLine(rest);
    },
  };
}
