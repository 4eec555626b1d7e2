import { expect, test } from '@jest/globals';
import type { InjectedFault } from '../world/faults.ts';
import { smallCase } from '../seeds/exhaustive.ts';
import { run } from '../world/run.ts';

/** Every event to this step is lost, from the n-th on, as where its function was killed and does not come back. */
const lostTo = (step: string, { from = 1, count = 40 } = {}): InjectedFault[] =>
  Array.from({ length: count }, (_, index) => ({
    at: `event to ${step}#${String(from + index)}`,
    fault: 'drop',
  }));

/** The seconds of virtual time from the refusal to the lock, and from there to the unlock; undefined: never. */
async function timesOf(
  plan: readonly InjectedFault[],
): Promise<{ readonly toLock?: number; readonly locked?: number }> {
  const result = await run({ ...smallCase(1), isBlockedAtStart: false }, { plan, trace: true });
  expect(result.violation).toBeUndefined();
  const secondsOf = (text: RegExp): number =>
    Number.parseFloat(result.trace.find((line) => text.test(line)) ?? 'NaN');
  const refused = secondsOf(/ mig1: .*RejectedByResourceQuota/i);
  const [locked, unlocked] = [secondsOf(/ tenant: locked by /), secondsOf(/ says: unlocked: /)];
  return { toLock: locked - refused, locked: unlocked - locked };
}

test('a refusal whose event is lost is locked for within 5 s', async () => {
  const { toLock } = await timesOf(lostTo('feasibility', { from: 3, count: 1 }));
  expect(toLock).toBeGreaterThan(2);
  expect(toLock).toBeLessThan(5);
});

test.each(['lower', 'unlock'])(
  'a namespace whose %s does not come back is locked for at most 8 s',
  async (step) => {
    const { toLock, locked } = await timesOf(lostTo(step));
    expect(toLock).toBeLessThan(1);
    expect(locked).toBeLessThan(8);
  },
);
