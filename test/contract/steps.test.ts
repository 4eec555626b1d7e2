import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { MOVE_EVENT } from '../../functions/domain/live/names.ts';
import { MAINTENANCE_CHANGED, MAINTENANCE_EVENT } from '../../functions/domain/progress/names.ts';
import { POSTED } from '../../hack/reference/event-catalogue.ts';
import { EVENT_DATA } from '../../functions/domain/events.ts';
import { EVENT, KIND, SOURCE_EVENT, type EventType } from '../../functions/domain/names.ts';
import { CYCLE_STEPS, STEP_NAMES } from '../../functions/runtime/settings.ts';
import type { Step, StepTrigger } from '../../functions/host/step.ts';
import { CYCLE, STEPS } from '../../functions/steps.ts';
import { render } from '../cluster/controlplane/kustomize.ts';
import type { CloudEvent } from '../cluster/eventing/cloudevent.ts';
import { compileFilter } from '../cluster/eventing/filter.ts';
import { knativeObjects, type Trigger } from '../cluster/eventing/manifests.ts';

const root = new URL('../../', import.meta.url);

/** Events for subscribers. */
const SUBSCRIBED = [...Object.values(MAINTENANCE_EVENT), ...Object.values(MOVE_EVENT)];

/** Every event that the Broker can have: ours, the source's of each known kind, and one of an unknown kind. */
const KINDS = [...Object.values(KIND).map(({ kind }) => kind), 'Pod'];
const ALL: readonly StepTrigger[] = [
  ...[...Object.values(EVENT), ...SUBSCRIBED, MAINTENANCE_CHANGED].map((type) => ({
    type,
  })),
  ...Object.values(SOURCE_EVENT).flatMap((type) => [{ type }, ...KINDS.map((kind) => ({ type, kind }))]),
  { type: EVENT.migrationInfeasible, source: '/mtq/lock' },
  { type: 'io.kubevirt.mtq.migration' },
  { type: 'dev.knative.apiserver.ref.update', kind: KIND.migration.kind },
];

let manifests: readonly Trigger[];

beforeAll(async () => {
  ({ triggers: manifests } = knativeObjects(await render('config/base')));
});

/** The event types of a cycle that a process posts. */
const postedBy = (process: string): string[] =>
  Object.values<string>(EVENT).filter((type) => POSTED[process]?.includes(type) === true);

describe('steps ⇄ Triggers', () => {
  test('the table has each step once, those of a cycle in its order', () => {
    expect(STEPS.map(({ name }) => name)).toEqual(STEP_NAMES);
    expect(CYCLE.map(({ name }) => name)).toEqual(CYCLE_STEPS);
  });

  test.each(STEPS)(
    '$name: its Trigger lets through what triggers it, and nothing else',
    ({ name, triggers }) => {
      const mine = manifests.filter(({ spec }) => spec.subscriber.ref?.name === name);
      const filters = mine.map(({ spec }) => compileFilter(spec));
      const through = ALL.filter((event) => filters.some((wants) => wants(asEvent(event))));
      expect(lines(through)).toEqual(lines(triggers));
    },
  );

  test('every reply of a step triggers exactly one other step', () => {
    const consumers = Object.fromEntries(
      STEPS.flatMap(({ replies }) => replies).map((type) => [type, consumersOf(type)]),
    );
    expect(consumers).toEqual({
      [EVENT.migrationFeasible]: ['lock'],
      [EVENT.migrationInfeasible]: ['feasibility'],
      [EVENT.quotaUntried]: ['raise'],
      [EVENT.namespaceLocked]: ['raise'],
      [EVENT.quotaRaised]: ['lower'],
      [EVENT.quotaUndone]: ['raise'],
      [EVENT.lockExpired]: ['lower'],
      [EVENT.quotaLowered]: ['unlock'],
    });
  });

  test('every event type that is no reply is posted, and triggers one step', () => {
    const replied = new Set(STEPS.flatMap(({ replies }) => replies));
    const posted = Object.values(EVENT).filter((type) => !replied.has(type));
    expect(Object.fromEntries(posted.map((type) => [type, consumersOf(type)]))).toEqual({
      // Posted by unlock.
      [EVENT.namespaceUnlocked]: ['feasibility'],
      // Posted by the guard, which also resends lost events.
      [EVENT.lockStalled]: ['lower'],
      [EVENT.migrationEnded]: ['lower'],
      [EVENT.resyncRequested]: ['feasibility'],
    });
  });

  test.each<[string, readonly string[]]>([
    ...STEPS.map(({ name, replies }): [string, readonly string[]] => [
      `functions/${name}`,
      [...replies, ...postedBy(name)],
    ]),
    ['webhook', postedBy('guard')],
  ])('%s: its code makes the events that it says, and no others', (folder, wanted) => {
    expect(eventsMadeIn(folder)).toEqual([...wanted].sort());
  });
});

describe('events for subscribers', () => {
  test('only `progress` runs on them, and only on the guard’s', () => {
    expect(consumersOf(MAINTENANCE_CHANGED)).toEqual(['progress']);
    expect(SUBSCRIBED.flatMap(consumersOf)).toEqual([]);
  });
});

describe('the data of our events', () => {
  test('has a schema for each type, and for nothing else', () => {
    expect(Object.keys(EVENT_DATA).sort()).toEqual(Object.values(EVENT).sort());
  });

  const WITH_TOKEN: readonly EventType[] = [
    EVENT.namespaceLocked,
    EVENT.quotaRaised,
    EVENT.quotaUndone,
    EVENT.lockStalled,
    EVENT.migrationEnded,
  ];

  test.each(Object.values(EVENT))(
    '%s: a namespace there must be, and a token where there is a lock',
    (type) => {
      const schema = EVENT_DATA[type];
      const accepts = (data: unknown): boolean => schema.safeParse(data).success;
      expect(accepts({ namespace: 'tenant', token: 'token-1', migrations: [{ name: 'm', uid: 'u' }] })).toBe(
        true,
      );
      expect(accepts({ namespace: 'tenant' })).toBe(!WITH_TOKEN.includes(type));
      for (const bad of [{}, { namespace: '' }, { namespace: 'a/b' }, { namespace: '..' }, 'tenant', null]) {
        expect(accepts(typeof bad === 'object' && bad !== null ? { token: 'token-1', ...bad } : bad)).toBe(
          false,
        );
      }
      expect(accepts({ namespace: 'tenant', token: '' })).toBe(false);
      expect(accepts({ namespace: 'tenant', token: 'token-1', migrations: [{ name: 'm' }] })).toBe(false);
    },
  );
});

describe('README.md and docs/architecture.md', () => {
  test.each(STEPS)('$name: has the documented triggers and replies', (step) => {
    const { triggeredBy, replies } = rowOf(step.name);
    expect(triggeredBy).toEqual(inWords(step));
    const posted = postedBy(step.name).map((type) => `(posts ${quoted(type)})`);
    expect(replies).toBe([step.replies.map(quoted).join(', '), ...posted].join(' ').trim());
  });
});

test.each(STEPS)('$name: its folder has the same files as the others', ({ name }) => {
  const files = ['decide.ts', 'handle.ts'].map((file) => `functions/${name}/${file}`);
  expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
});

const source = (file: string): string => readFileSync(new URL(file, root), 'utf8');

/** Event types that a folder's code creates: a comma follows the type there, but not in comparisons or waits. */
function eventsMadeIn(folder: string): EventType[] {
  const all = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' });
  const files = all.filter((file) => /(?<!\.test)\.ts$/.test(file));
  const made = files.flatMap((file) =>
    [...source(`${folder}/${file}`).matchAll(/(?:type: |nextEvent\()EVENT\.(\w+),/g)].map(([, key]) => key),
  );
  return [...new Set(made)].map((key) => EVENT[key as keyof typeof EVENT]).sort();
}

const asEvent = ({ type, kind, source: from }: StepTrigger): CloudEvent => ({
  attributes: {
    type,
    ...(kind === undefined ? {} : { kind }),
    ...(from === undefined ? {} : { source: from }),
  },
  data: Buffer.alloc(0),
});

const lines = (events: readonly StepTrigger[]): string[] =>
  events.map(({ type, kind, source: from }) => [type, kind, from].join(' ')).sort();

const consumersOf = (type: string): string[] =>
  STEPS.filter(({ triggers }) => triggers.some((event) => event.type === type)).map(({ name }) => name);

const short = (type: string): string => type.replace('io.kubevirt.mtq.', '');
const quoted = (type: string): string => `\`${short(type)}\``;

const WORDS: Readonly<Record<string, string>> = {
  [KIND.migration.kind]: 'migration',
  [KIND.vmmrq.kind]: 'VMMRQ',
  [KIND.quota.kind]: 'raised quota',
};

/** "migration add, update · `sweep.requested`". */
function inWords({ triggers }: Step): string {
  const kinds = [...new Set(triggers.map(({ kind }) => kind))];
  return kinds
    .flatMap((kind) => {
      const types = triggers.filter((event) => event.kind === kind).map(({ type }) => type);
      if (kind === undefined) return types.map(quoted);
      return `${WORDS[kind] ?? kind} ${types.map((type) => type.split('.').at(-1)).join(', ')}`;
    })
    .join(' · ');
}

/** README.md documents the replies of a step, docs/architecture.md its triggers. */
function rowOf(step: string): { triggeredBy: string; replies: string } {
  const [, triggeredBy] =
    new RegExp(`^- \`${step}\`: ((?:.+\n?)+?)(?:- |\n)`, 'm').exec(source('docs/architecture.md')) ?? [];
  if (triggeredBy === undefined) throw new Error(`docs/architecture.md has no entry - \`${step}\`: …`);
  const row = source('README.md')
    .split('\n')
    .find((line) => line.startsWith(`| \`${step}\``));
  if (row === undefined) throw new Error(`README.md has no row that starts with | \`${step}\``);
  const [, , , replies = ''] = row.split('|').map((cell) => cell.trim());
  return { triggeredBy: triggeredBy.replaceAll(/\s+/g, ' ').trim(), replies };
}
