import { expect, test } from '@jest/globals';
import { aWaitingVmi, firstAttempt, received, sent } from '../../../test/support/builders/live-run.ts';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import { ATTACKS, HIDING, textsOf, withTexts } from '../../../test/support/foreign-attacks.ts';
import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import { differencesOf } from '../on-target/differences.ts';
import { pendingMessage } from '../on-target/volumes.ts';
import { fail, wait, waitUntil, write } from '../run/decision.ts';
import { leftoversOf, withLeftovers } from '../run/leftovers.ts';
import { decide } from '../steps/wait-for-state-transfer.ts';
import { problemStatus } from './problem-status.ts';

const FINDING: Finding = {
  ...{ type: LIVE_CONDITION.blocked, category: 'Critical', reason: 'Reason' },
  ...{ message: 'message', suggestion: 'suggestion', items: ['one', 'two'] },
};
/** Keys whose texts are of this project, or of the API. */
const OURS = ['type', 'category', 'status', 'reason', 'lastTransitionTime'];

/** What `live` makes of texts of KubeVirt, CDI, a Job or another cluster: conditions and messages. */
const OUTPUTS: Readonly<Record<string, (text: string) => unknown>> = {
  'conditions of findings': (text) => nextConditions([], [withTexts(FINDING, text, OURS)], seconds(0)),
  'the status of a Migration that never begins': (text) =>
    problemStatus(
      { conditions: nextConditions([], [withTexts(FINDING, text, OURS)], '2020-01-01T00:00:00Z') },
      withTexts(FINDING, text, OURS),
      Date.parse(seconds(0)),
    ),
  'a wait': (text) => wait(LIVE_REASON.targetPending, text),
  'a failure': (text) => fail(LIVE_REASON.targetPending, text),
  'a write': (text) => write(text),
  'a wait that is too long': (text) =>
    waitUntil(
      { now: 2, until: 1 },
      { reason: LIVE_REASON.targetPending, message: text },
      LIVE_REASON.transferFailed,
    ),
  leftovers: (text) =>
    leftoversOf(
      withLeftovers(
        { phase: 'x', pipeline: [], conditions: nextConditions([], [{ ...FINDING, type: 'Failed' }], '') },
        [text],
      ),
    ),
  'a volume that is not filled': (text) =>
    pendingMessage({
      ...{ kind: 'DataVolume', metadata: aVm().metadata },
      ...{ status: { progress: text, conditions: [{ type: 'Bound', status: 'False', message: text }] } },
    }),
  'a VM that must be restarted': (text) =>
    differencesOf(
      aVm((vm) => ({
        ...vm,
        status: { conditions: [{ type: 'RestartRequired', status: 'True', message: text }] },
      })),
      itsVmi(),
    ),
  'a transfer that failed': (text) => {
    const target = aWaitingVmi((vmi) => ({
      ...vmi,
      status: { ...vmi.status, migrationState: { failed: true, failureReason: text } },
    }));
    const snapshot = firstAttempt({
      source: { vmims: [sent('Failed')] },
      target: { vmims: [received('Failed')], vmi: target },
    });
    return decide(snapshot);
  },
};

test.each(Object.entries(OUTPUTS))('%s has one safe line for each text', (_, outputOf) => {
  for (const [name, attack] of ATTACKS) {
    const texts = textsOf(outputOf(attack));
    expect(texts).not.toEqual([]);
    const unsafe = texts.filter((text) => HIDING.test(text) || text.length > 20_000);
    expect([name, ...unsafe]).toEqual([name]);
  }
});
