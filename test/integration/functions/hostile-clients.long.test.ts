import { afterEach, expect, test } from '@jest/globals';
import { serve } from '../../../examples/serve.ts';
import { NOTHING, aStep, startHost } from '../../support/environment/function-host.ts';
import { TO_FUNCTIONS } from '../../support/faults/hostile-client.ts';
import { eventsTo, measure, startHostileClient } from '../../support/faults/hostile.ts';

interface Served {
  readonly port: number;
  readonly close: () => Promise<void>;
}

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

const SERVERS: Readonly<Record<string, () => Promise<Served>>> = {
  'a function': () => startHost([aStep(() => NOTHING)]),
  'an example': () => serve(() => Promise.resolve(undefined), 0),
};
const COUNT = 40;
const ATTACKS = Object.keys(SERVERS).flatMap((server) =>
  Object.keys(TO_FUNCTIONS).map((shape) => ({ server, shape })),
);

test.each(ATTACKS)(
  'ten requests a second to $server ($shape): no real event and no probe is lost',
  async ({ server, shape }) => {
    served = await SERVERS[server]?.();
    const port = served?.port ?? 0;
    const client = await startHostileClient({ port, shape, connections: 8, perSecond: 10 });
    const { work, liveness } = await measure({ ask: eventsTo(port), healthPort: port }, COUNT).finally(() =>
      client.stop(),
    );
    expect([...work, ...liveness].filter((ms) => ms === Infinity)).toEqual([]);
  },
);
