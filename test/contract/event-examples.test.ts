import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { EVENT_DATA } from '../../functions/domain/events.ts';
import { EVENT, type EventType } from '../../functions/domain/names.ts';
import { messageOf } from '../../functions/eventing/cloud-events.ts';
import { eventExamples } from '../../hack/reference/event-examples.ts';
import { Broker, type Event } from '../simulation/world/broker.ts';
import { runSeed } from '../simulation/world/run.ts';

/** The runs end as soon as each type was sent: the rarest one comes among the first forty. */
const MAX_SEEDS = 200;

const TYPES = Object.values(EVENT);
const EXAMPLES = eventExamples();

/** The events of simulated runs by type and sender. Clients send forged ones too. */
const sent = new Map<string, Event[]>();
const keyOf = ({ type, source }: Event): string => `${type} ${source}`;
const exampleOf = (type: EventType): Event => {
  const example = EXAMPLES.get(type);
  if (example === undefined) throw new Error(`${type} has no example`);
  return example;
};
const likeExample = (type: EventType): readonly Event[] => sent.get(keyOf(exampleOf(type))) ?? [];

beforeAll(async () => {
  const publish = jest.spyOn(Broker.prototype, 'publish');
  for (let seed = 1; seed <= MAX_SEEDS && TYPES.some((type) => likeExample(type).length === 0); seed += 1) {
    await runSeed(seed);
    for (const [event] of publish.mock.calls)
      sent.set(keyOf(event), [...(sent.get(keyOf(event)) ?? []), event]);
    publish.mockClear();
  }
  publish.mockRestore();
});

const attributesOf = (event: Event): string[] => Object.keys(messageOf(event).headers).toSorted();
const membersOf = ({ data }: Event): string =>
  Object.keys(data as object)
    .toSorted()
    .join(' ');

describe.each(TYPES)('the example of %s in docs/events', (type) => {
  test('has the attributes and members of an event that its sender has sent', () => {
    const example = exampleOf(type);
    expect(likeExample(type).map(membersOf)).toContain(membersOf(example));
    expect(likeExample(type).map(attributesOf)).toContainEqual(attributesOf(example));
  });

  test('is of a schema that every such event fits', () => {
    expect(likeExample(type).filter(({ data }) => !EVENT_DATA[type].safeParse(data).success)).toEqual([]);
  });
});
