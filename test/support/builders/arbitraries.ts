import fc from 'fast-check';
import type { ResourceList } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';

/** Keys of quotas: those that count pods, and others. */
const KEYS = [
  ...[
    'pods',
    'count/pods',
    'cpu',
    'requests.cpu',
    'limits.cpu',
    'memory',
    'requests.memory',
    'limits.memory',
  ],
  ...['ephemeral-storage', 'hugepages-2Mi', 'requests.hugepages-2Mi', 'requests.nvidia.com/gpu'],
  ...['requests.storage', 'persistentvolumeclaims', 'services', 'count/configmaps'],
];

/** A quantity of zero or more in any form that a client may write, canonical or not. */
export const aQuantityText = fc
  .tuple(
    fc.oneof(
      fc.nat({ max: 5_000 }).map(String),
      fc.tuple(fc.nat({ max: 50 }), fc.stringMatching(/^\d{1,11}$/)).map(([one, part]) => `${one}.${part}`),
    ),
    fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'E+2', 'e-3'),
  )
  .map((parts) => parts.join(''));

const aList = (keys: readonly string[]): fc.Arbitrary<ResourceList> =>
  fc.dictionary(fc.constantFrom(...keys), aQuantityText, { noNullPrototype: true });

/** spec.hard of any quota. */
export const aHardList = aList(KEYS);

/** The allowance of any VMMRQ. */
export const aVmmrqList = aList(KEYS);

/** Throws for a missing text, because the key is absent. */
export function amountOf(text: string | undefined): Amount {
  if (text === undefined) throw new Error('there is no such key');
  return parseQuantity(text);
}
