import { EVENT } from '../../../functions/domain/names.ts';
import type { EventSelector } from '../../cluster/eventing/broker.ts';
import { namespaceOf, type TestEnvironment } from '../environment/test-environment.ts';

export const EVERYTHING: EventSelector = () => true;

/** Matches events on their way to these Triggers; never the dry run before a quota's first lock. */
export const to =
  (...triggers: readonly string[]): EventSelector =>
  ({ trigger, event }) =>
    triggers.includes(trigger) && event.attributes['type'] !== EVENT.quotaUntried;

/** Matches the events that end a lock. */
export const WHAT_ENDS_A_LOCK = to('mtq-lower', 'mtq-unlock');

/** The events that the Broker loses, by the tenant's namespace: each test has its own. */
export function droppedEvents({ cluster }: TestEnvironment): Map<string, EventSelector> {
  const dropped = new Map<string, EventSelector>();
  cluster.eventing.broker.lose((delivery) => dropped.get(namespaceOf(delivery.event))?.(delivery) === true);
  return dropped;
}
