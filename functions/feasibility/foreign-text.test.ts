import { expect, test } from '@jest/globals';
import { aMigration } from '../../test/support/builders/kubevirt.ts';
import { afterAttempt, aNamespace, anAttempt } from '../../test/support/builders/namespace.ts';
import { aFailure, exceeded, forbidden } from '../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aVmmrq, RULES } from '../../test/support/builders/snapshot.ts';
import { ATTACKS, FORGED, HIDING, textsOf } from '../../test/support/foreign-attacks.ts';
import { rawText } from '../../test/support/raw-text.ts';
import { assess } from '../domain/verdict/assessment.ts';
import { eventMessage } from '../domain/verdict/written.ts';
import { LOCK_OUTCOME } from '../domain/names.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { toCloudEvent } from '../eventing/cloud-events.ts';
import { decide } from './decide.ts';

/** What a tenant writes, with a text in it. */
const FORGERIES: Readonly<Record<string, (text: string) => Partial<NamespaceSnapshot>>> = {
  'a refusal by a policy': (text) => ({ events: [aFailure(forbidden(text))] }),
  'a refusal by Pod Security': (text) => ({
    events: [aFailure(forbidden(`violates PodSecurity "x": ${text}`))],
  }),
  'a refusal by a webhook': (text) => ({
    events: [aFailure(`admission webhook "${text}" denied the request: ${text}`)],
  }),
  'a quota of the cluster': (text) => ({ events: [aFailure(exceeded(text, 'pods=1'))] }),
  'a key of a quota': (text) => ({ events: [aFailure(exceeded('quota', `${text}=1,pods=1`))] }),
  'a name of a VMI': (text) => ({
    migrations: [aMigration((migration) => ({ ...migration, spec: { vmiName: text } }))],
  }),
  'the last attempt failed, and a refusal': (text) => ({
    namespace: aNamespace(afterAttempt(anAttempt({ failures: 1, outcome: LOCK_OUTCOME.failed }))),
    events: [aFailure(forbidden(text))],
  }),
};

/** Every text that feasibility writes: lines of conditions, messages and verdicts of Events, the reply's data. */
function written(different: Partial<NamespaceSnapshot>): string[][] {
  const snapshot = aSnapshot(different);
  const { events, statusOf, reply } = decide(snapshot, assess(snapshot, RULES));
  const conditions = statusOf(aVmmrq())?.conditions ?? [];
  const data = reply === undefined ? {} : toCloudEvent(reply).data;
  return [
    ...conditions.map(({ reason, message }) => [rawText(reason), ...rawText(message).split('\n')]),
    ...events.map((event) => [eventMessage(event)]),
    ...events.map(({ verdict = '{}' }) => textsOf(JSON.parse(verdict))),
    textsOf(data),
  ];
}

test.each(Object.entries(FORGERIES))('%s hides nothing, and begins no line', (_, forge) => {
  for (const [name, attack] of ATTACKS) {
    const texts = written(forge(attack)).flat();
    const unsafe = texts.filter(
      (text) => HIDING.test(text) || text.startsWith(FORGED) || text.length > 20_000,
    );
    expect([name, ...unsafe]).toEqual([name]);
  }
});
