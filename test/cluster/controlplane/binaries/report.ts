import type { Progress } from './ensure.ts';

const TTY_EVERY_MS = 1_000;
const LINE_EVERY_MS = 15_000;

/** The part of process.stderr that a report needs. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Reports the current build and its duration: one rewritten line on a terminal, a line every 15 s
 * in a log. It does not mention existing parts. Pass `showProgress` to ensureBinaries; call `end` after it, which also ends
 * the line.
 */
export function reportProgress(terminal: Terminal = process.stderr): {
  showProgress: (progress: Progress) => void;
  end: () => void;
} {
  let timer: NodeJS.Timeout | undefined;
  /** Whether the terminal's last line has no end yet. */
  let isOpen = false;
  const print = (text: string, last: boolean): void => {
    isOpen = terminal.isTTY === true && !last;
    if (terminal.isTTY === true) terminal.write(`\r\u001B[K${text}${last ? '\n' : ''}`);
    else terminal.write(`${text}\n`);
  };
  const end = (): void => {
    clearInterval(timer);
    if (isOpen) terminal.write('\n');
  };
  let since = 0;
  const showProgress = (progress: Progress): void => {
    clearInterval(timer);
    if (progress.state === 'found') return;
    if (progress.state === 'building') since = Date.now();
    const tell = (): void => print(sentence(progress, Date.now() - since), progress.state === 'built');
    tell();
    if (progress.state !== 'building') return;
    timer = setInterval(tell, terminal.isTTY === true ? TTY_EVERY_MS : LINE_EVERY_MS);
    timer.unref();
  };
  return { showProgress, end };
}

function sentence({ name, n, of, usual, state }: Progress, elapsedMs: number): string {
  const part = `· ${name} (${n} of ${of})`;
  if (state === 'built') return `${part}: built in ${duration(elapsedMs)}`;
  // Fits into 80 columns, because a terminal cannot rewrite a wrapped line.
  return `${part}: building ${duration(elapsedMs)} (at first ${usual})`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}
