import type { EventSelector } from '../cluster/eventing/broker.ts';
import { namespaceOf, type TestEnvironment } from './test-environment.ts';

export const EVERYTHING: EventSelector = () => true;

/** What is on its way to these Triggers. */
export const to =
  (...triggers: readonly string[]): EventSelector =>
  ({ trigger }) =>
    triggers.includes(trigger);

/** What ends a lock. */
export const WHAT_ENDS_A_LOCK = to('mtq-lower', 'mtq-unlock');

/** Which events the Broker loses, by the tenant's namespace: each test has its own. */
export function droppedEvents({ cluster }: TestEnvironment): Map<string, EventSelector> {
  const dropped = new Map<string, EventSelector>();
  cluster.eventing.broker.lose((delivery) => dropped.get(namespaceOf(delivery.event))?.(delivery) === true);
  return dropped;
}
