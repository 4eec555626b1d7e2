import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aMigration } from '../test/support/builders/kubevirt.ts';
import { aPlan, aPlanMigration } from '../test/support/builders/live.ts';
import { aProgress, aStatus, bucket } from '../test/support/builders/maintenance.ts';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../test/support/builders/namespace.ts';
import { annotated, NOW, seconds } from '../test/support/builders/object.ts';
import { aFailure, exceeded, forbidden } from '../test/support/builders/pod-rejection.ts';
import { aTenant, clusterFacts, tight } from '../test/support/builders/preflight.ts';
import { aSnapshot, RULES } from '../test/support/builders/snapshot.ts';
import { aForeignText, ATTACKS, FORGED, HIDING, withTexts } from '../test/support/foreign-attacks.ts';
import { ANNOTATION } from '../functions/domain/names.ts';
import type { PlanMigration } from '../functions/domain/live/forklift.ts';
import type { NamespaceSnapshot } from '../functions/domain/snapshot.ts';
import { ApiError, describeError } from '../functions/kubernetes/errors.ts';
import { explain, type Explanation } from './explain/explanation.ts';
import { plainExplanation, renderExplanation } from './explain/render.ts';
import { planReport, planTable } from './preflight/plan-report.ts';
import { preflight } from './preflight/preflight.ts';
import { structure, table } from './preflight/render.ts';
import { migrationLine, renderMigration } from './progress/render-migration.ts';
import { plainLine, renderProgress } from './progress/render.ts';
import { renderStatus } from './status/render.ts';
import type { StatusReport } from './status/report.ts';
import { structured } from './terminal/structured.ts';
import { Terminal } from './terminal/terminal.ts';
import { describeLock } from './unlock/plan.ts';

type Print = (terminal: Terminal, text: string) => void;

const explained = (different: Partial<NamespaceSnapshot>): Explanation =>
  explain(aMigration(), aSnapshot(different), RULES);

const STATUS: StatusReport = {
  clusterWide: [{ name: 'drains', purposes: ['Evacuation'], namespaces: 1 }],
  namespaces: [
    {
      ...{ namespace: 'tenant', vmmrqs: ['vmmrq'] },
      lock: {
        ...{ token: 'token', acquiredAt: seconds(-5), expiresAt: seconds(25), isExpired: false },
        ...{ migrations: ['mig0'], quotas: ['quota'] },
      },
      raised: [{ quota: 'quota', keys: { pods: '1' } }],
      waiting: [
        {
          ...{ migration: 'mig1', verdict: 'NoFit', reason: 'NotEnough', message: 'why', advice: 'do' },
          blocking: [{ quota: 'quota', key: 'requests.cpu', missing: '1' }],
        },
      ],
    },
  ],
};
/** Keys of values by which a renderer decides; another party cannot choose them. */
const OURS = [
  'verdict',
  'reason',
  'acquiredAt',
  'expiresAt',
  'missing',
  'state',
  'outcome',
  'task',
  'metadata',
];

const PROGRESS = aProgress(
  'Drain',
  aStatus([1, 2], [1], { state: 'Blocked', blocked: 1, message: 'why', buckets: [bucket('blocked', 1)] }),
);
const CONDITION = {
  ...{ type: 'Blocked', status: 'True' as const, category: 'Critical' as const, reason: 'Reason' },
  ...{ message: 'message', suggestion: 'do', items: ['vms/web'], lastTransitionTime: seconds(0) },
};
const withCondition = (text: string): typeof CONDITION =>
  withTexts(CONDITION, text, ['type', 'status', 'category', 'lastTransitionTime']);
const migrationWith = (text: string, started?: string): PlanMigration => ({
  ...aPlanMigration(),
  status: {
    ...(started === undefined ? {} : { started }),
    ...{ progress: '50%', message: text, conditions: [withCondition(text)] },
    vms: [
      { name: text, namespace: text, phase: text, pipeline: [], conditions: [withCondition(text)] },
      { name: text, phase: text, pipeline: [], started: seconds(0), completed: seconds(1) },
    ],
  },
});
const planWith = (text: string): ReturnType<typeof planReport> => {
  const plan = aPlan();
  const status = { observedGeneration: 2, conditions: [withCondition(text)] };
  return planReport({ ...plan, metadata: { ...plan.metadata, generation: 2 }, status });
};
const preflighted = (text: string): ReturnType<typeof preflight> =>
  withTexts(
    preflight({ kind: 'node', nodes: ['node1'] }, clusterFacts([aTenant({ quotas: [tight(400)] })])),
    text,
    OURS,
  );
const apiError = (text: string): ApiError =>
  new ApiError('GET /x', { code: 403, reason: text, message: text }, new Date(0));

/** Each output of the plugin, with a foreign text in the place of every text that others write. */
const OUTPUTS: Readonly<Record<string, Print>> = {
  'explain: a refusal': (terminal, text) =>
    terminal.print(
      renderExplanation(explained({ events: [aFailure(forbidden(`x ${text}`))] }), terminal.sheet(undefined)),
    ),
  'explain: a quota of the cluster': (terminal, text) =>
    terminal.print(
      renderExplanation(
        explained({ events: [aFailure(exceeded(`q${text}`, 'pods=1'))], limitRanges: [] }),
        terminal.sheet(undefined),
      ),
    ),
  'explain: every text': (terminal, text) =>
    terminal.print(renderExplanation(withTexts(explained({}), text, OURS), terminal.sheet('wide'))),
  'explain -o json': (terminal, text) =>
    terminal.print(structured('json', withTexts(plainExplanation(explained({})), text))),
  'explain -o yaml': (terminal, text) =>
    terminal.print(structured('yaml', withTexts(plainExplanation(explained({})), text))),
  'status -o wide': (terminal, text) =>
    terminal.print(renderStatus(withTexts(STATUS, text, OURS), { sheet: terminal.sheet('wide'), now: NOW })),
  'status -o yaml': (terminal, text) => terminal.print(structured('yaml', withTexts(STATUS, text))),
  'preflight node': (terminal, text) => terminal.print(table(preflighted(text), terminal.sheet(undefined))),
  'preflight node -o wide': (terminal, text) =>
    terminal.print(table(preflighted(text), terminal.sheet('wide'))),
  'preflight node -o json': (terminal, text) =>
    terminal.print(structured('json', structure(preflighted(text)))),
  'preflight plan': (terminal, text) => terminal.print(planTable(planWith(text), terminal.sheet('wide'))),
  'preflight plan -o yaml': (terminal, text) => terminal.print(structured('yaml', planWith(text))),
  'progress on a terminal': (terminal, text) =>
    terminal.redraw(
      renderProgress(withTexts(PROGRESS, text, [...OURS, 'kind', 'name']), {
        paint: terminal.paint,
        columns: 200,
      }),
    ),
  'progress in a pipe': (terminal, text) => terminal.print(plainLine(withTexts(PROGRESS, text, OURS))),
  'progress plan on a terminal': (terminal, text) =>
    terminal.redraw(
      renderMigration(migrationWith(text, seconds(0)), { paint: terminal.paint, columns: 200 }),
    ),
  'progress plan, which has not begun': (terminal, text) =>
    terminal.redraw(renderMigration(migrationWith(text), { paint: terminal.paint, columns: 200 })),
  'progress plan in a pipe': (terminal, text) => {
    terminal.print(migrationLine(migrationWith(text)));
    terminal.print(migrationLine(migrationWith(text, seconds(0))));
  },
  'unlock: a lock': (terminal, text) =>
    terminal.print(
      describeLock(annotated(ANNOTATION.token, `x${text}`)(aNamespace(lockedBy(aLock()))), NOW) ?? [],
    ),
  'unlock: an unreadable lock': (terminal, text) =>
    terminal.print(describeLock(aNamespace(lockedUnreadably(JSON.stringify({ [text]: 1 }))), NOW) ?? []),
  'an error of the API server': (terminal, text) => terminal.warn(describeError(apiError(text))),
  'any line': (terminal, text) => terminal.print(`It is: ${text}`),
};

/** What one output writes to a terminal, or to a pipe. */
function written(print: Print, text: string, isTTY: boolean): string {
  const stdout = Object.assign(new PassThrough(), { isTTY, columns: 200 });
  const stderr = new PassThrough();
  const streams = { stdin: new PassThrough(), stdout, stderr };
  print(new Terminal(streams as unknown as NodeJS.Process), text);
  return [stdout, stderr].map((stream) => (stream.read() as Buffer | null)?.toString() ?? '').join('');
}

/** What `paint` makes. */
const PAINT = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
const escapesIn = (output: string): string[] => output.match(PAINT) ?? [];

/** The output has the lines and colours that a harmless text has there, and nothing in it hides, turns or moves. */
function expectSafe(print: Print, text: string): void {
  for (const isTTY of [true, false]) {
    const [harmless, output] = ['harmless', text].map((each) => written(print, each, isTTY)) as [
      string,
      string,
    ];
    expect(escapesIn(output)).toEqual(escapesIn(harmless));
    const lines = output.replaceAll(PAINT, '').split('\n');
    expect(lines).toHaveLength(harmless.split('\n').length);
    expect(lines.filter((line) => HIDING.test(line) || line.trimStart().startsWith(FORGED))).toEqual([]);
  }
}

describe.each(Object.entries(OUTPUTS))('%s', (_, print) => {
  test('with each attack is as with a harmless text', () => {
    // The text begins with an x: a name may begin a row of a table.
    for (const [, attack] of ATTACKS) expectSafe(print, `x${attack.slice(0, 5_000)}`);
  });

  test('with any text is as with a harmless one', () => {
    fc.assert(
      fc.property(aForeignText, (text) => expectSafe(print, `x${text}`)),
      { numRuns: 40 },
    );
  });
});
