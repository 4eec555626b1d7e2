import { expect, test } from '@jest/globals';
import { parseEventObject } from '../../functions/eventing/event-object.ts';
import { feasibility } from '../../functions/feasibility/handle.ts';
import { firstTimes } from '../../functions/host/first-times.ts';
import { ANNOTATION, KIND, SOURCE_EVENT } from '../../functions/domain/names.ts';
import { annotated } from '../support/builders/object.ts';
import { TENANT } from './objects.ts';
import { aBlockedTenant, BLOCKED, give, runStep } from './one-step.ts';

test('the event of our own nudge costs no request, and any later event of the migration is handled', async () => {
  let requests = 0;
  const model = aBlockedTenant({
    pace: ({ phase }) => {
      if (phase === 'arrive') requests += 1;
      return Promise.resolve();
    },
  });
  give(model);
  const context = { sinceFirst: firstTimes({ elapsed: () => model.clock.now }) };
  const eventObject = parseEventObject(annotated(ANNOTATION.nudged, 'headroom 1')(BLOCKED), {
    kind: KIND.migration.kind,
    namespace: TENANT,
  });
  const about = { id: 'event-1', namespace: TENANT, kind: KIND.migration.kind };
  const updated = { type: SOURCE_EVENT.update, ...about, ...(eventObject && { eventObject }) };
  await runStep(feasibility, { ...model, context }, updated);
  expect(requests).toBe(0);
  model.clock.now += 1_000;
  await runStep(feasibility, { ...model, context }, updated);
  expect(requests).toBeGreaterThan(0);
});
