import { describe, expect, test } from '@jest/globals';
import { smallCase } from './exhaustive.ts';
import { run } from './run.ts';

/** A target pod that is larger than its source: only the API server's own words in virt-controller's Event tell. */
const LARGER = { ...smallCase(1), isBlockedAtStart: false, targetRequests: { cpu: '1300m', memory: '1Gi' } };

describe('virt-controller’s Events of its refusals are read', () => {
  test.each([
    { writesEvents: true, cycles: 1, name: 'told how large the pod is, the first raise is enough' },
    { writesEvents: false, cycles: 0, name: 'not told, it is raised by too little' },
  ])('$name', async ({ writesEvents, cycles }) => {
    const { violation, ...ended } = await run({ ...LARGER, writesEvents }, { plan: [] });
    expect({ violation, cycles: ended.cycles, hasFailed: ended.failures > 0 }).toEqual({
      violation: undefined,
      cycles,
      hasFailed: !writesEvents,
    });
  });
});
