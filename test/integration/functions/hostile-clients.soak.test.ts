import { afterEach, expect, jest, test } from '@jest/globals';
import { serve } from '../../../examples/serve.ts';
import { NOTHING, aStep, startHost } from '../../support/environment/function-host.ts';
import { TO_FUNCTIONS } from '../../support/faults/hostile-client.ts';
import { eventsTo, measure, startHostileClient } from '../../support/faults/hostile.ts';
import { p99, rowOf } from '../../support/faults/percentiles.ts';

jest.setTimeout(3_600_000);

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
const COUNT = 400;
const WITHIN_MS = 1_000;

test.each(Object.keys(SERVERS))(
  'ten hostile requests a second of any shape to %s leave events and probes within a second',
  async (server) => {
    served = await SERVERS[server]?.();
    const port = served?.port ?? 0;
    const real = { ask: eventsTo(port), healthPort: port };
    const alone = p99(await measure(real, COUNT));
    process.stdout.write(`${rowOf(`${server}, alone`, alone)}\n`);
    for (const shape of Object.keys(TO_FUNCTIONS)) {
      const client = await startHostileClient({ port, shape, connections: 8, perSecond: 10 });
      const own = p99(await measure(real, COUNT).finally(() => client.stop()));
      process.stdout.write(`${rowOf(shape, own, alone)}\n`);
      expect(Math.max(own.work, own.liveness)).toBeLessThan(WITHIN_MS);
    }
  },
);
