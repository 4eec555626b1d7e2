import type { Chosen } from '../cluster/eventing/broker.ts';
import { namespaceOf, type Lab } from './lab.ts';

export const EVERYTHING: Chosen = () => true;

/** What is on its way to these Triggers. */
export const to =
  (...triggers: readonly string[]): Chosen =>
  ({ trigger }) =>
    triggers.includes(trigger);

/** What ends a lock. */
export const WHAT_ENDS_A_LOCK = to('mtq-lower', 'mtq-unlock');

/** Which events the Broker loses, by the tenant's namespace: each test has its own. */
export function losses({ cluster }: Lab): Map<string, Chosen> {
  const lost = new Map<string, Chosen>();
  cluster.eventing.broker.lose((delivery) => lost.get(namespaceOf(delivery.event))?.(delivery) === true);
  return lost;
}
