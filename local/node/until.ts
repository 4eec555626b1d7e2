import { setTimeout as delay } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;

/** Asks until nothing is wrong any more; rejects with what still is after `ms`, and `more` about it. */
export async function until(
  ms: number,
  wrong: () => Promise<string | undefined>,
  more: () => string = () => '',
): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    const problem = await wrong();
    if (problem === undefined) return;
    if (performance.now() > end) throw new Error(`after ${ms / 1_000} s ${problem}\n${more()}`);
    await delay(LOOK_EVERY_MS);
  }
}
