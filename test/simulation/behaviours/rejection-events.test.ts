import { describe, expect, test } from '@jest/globals';
import { smallCase } from '../seeds/exhaustive.ts';
import { run } from '../world/run.ts';

/** A target pod that is larger than its source: only the API server's text in virt-controller's Event shows its size. */
const LARGER = { ...smallCase(1), isBlockedAtStart: false, targetRequests: { cpu: '1300m', memory: '1Gi' } };

describe('a larger target pod', () => {
  test.each([
    {
      writesEvents: true,
      cycles: 1,
      name: 'gets enough by the first raise when virt-controller’s Event shows its size',
    },
    { writesEvents: false, cycles: 0, name: 'gets too little when the Event is lost' },
  ])('$name', async ({ writesEvents, cycles }) => {
    const { violation, ...ended } = await run({ ...LARGER, writesEvents }, { plan: [] });
    expect({ violation, cycles: ended.cycles, hasFailed: ended.failures > 0 }).toEqual({
      violation: undefined,
      cycles,
      hasFailed: !writesEvents,
    });
  });
});
