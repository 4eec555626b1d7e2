import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HISTORIES } from '../../simulation/conformance/histories.ts';
import { modelled } from '../../simulation/conformance/modelled.ts';
import { replay, type Replayed } from '../../simulation/conformance/play.ts';
import { startReal, type Real } from '../../simulation/conformance/real.ts';

/**
 * Compares the simulation's model of the API server with the real one. Each history runs on both. The answers, the webhook
 * calls and the final objects must be the same.
 */

let real: Real;

beforeAll(async () => {
  real = await startReal();
});

afterAll(async () => {
  await real.stop();
});

async function onTheModel(steps: (typeof HISTORIES)[number]['steps']): Promise<Replayed[]> {
  const { side, untilStable } = await modelled('tenant-of-the-model');
  return replay(steps, side, untilStable);
}

describe.each(Object.entries(Object.groupBy(HISTORIES, ({ about }) => about)))(
  '%s',
  (about, histories = []) => {
    test.each(histories.map(({ fact, steps }, index) => [fact, steps, index] as const))(
      '%s',
      async (_fact, steps, index) => {
        const wanted = await onTheModel(steps);
        const { side, untilStable } = await real.side(`${about.replaceAll(' ', '-')}-${index}`, wanted);
        try {
          expect(await replay(steps, side, untilStable)).toEqual(wanted);
        } finally {
          side.resumeController();
        }
      },
    );
  },
);
