import { expect, test } from '@jest/globals';
import { ATTACKS, HIDING, textsOf } from '../../../test/support/foreign-attacks.ts';
import { ANNOTATION } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import { knownVerdicts, verdictKey, type KnownVerdict } from './known-verdict.ts';

const UID = 'uid-of-mig0';
const SKIPPED: KnownVerdict = { reason: 'Skipped', message: 'the namespace opts out' };
const LACKS: KnownVerdict = {
  reason: 'NotEnough',
  quotas: [{ name: 'quota', missing: { 'requests.cpu': '605m' } }],
};

/** An Event with the verdict, as the API server stores it. */
const anEvent = (verdict: KnownVerdict | string | undefined, resourceVersion: string): KubernetesEvent => {
  const text = typeof verdict === 'string' ? verdict : JSON.stringify(verdict);
  return {
    metadata: {
      ...{ namespace: 'tenant', name: `e${resourceVersion}`, uid: resourceVersion, resourceVersion },
      creationTimestamp: '',
      ...(verdict === undefined ? {} : { annotations: { [ANNOTATION.verdict]: text } }),
    },
    involvedObject: { uid: UID },
  };
};

const inNamespace = (namespace: string, event: KubernetesEvent): KubernetesEvent => ({
  ...event,
  metadata: { ...event.metadata, namespace },
});

test.each<[string, KubernetesEvent[], KnownVerdict | undefined]>([
  ['without an Event', [], undefined],
  ['with one', [anEvent(LACKS, '7')], LACKS],
  [
    'with two: that of the newest version, whatever their order',
    [anEvent(LACKS, '10'), anEvent(SKIPPED, '9')],
    LACKS,
  ],
  ['without a verdict in it', [anEvent(undefined, '7')], undefined],
  ['that cannot be read', [anEvent('{"reason":7}', '7')], undefined],
  ['that is no JSON', [anEvent('{', '7')], undefined],
  [
    'of which an Event in another namespace tells',
    [anEvent(LACKS, '7'), inNamespace('other', anEvent(SKIPPED, '8'))],
    LACKS,
  ],
  ['that cannot be read, after one that can', [anEvent(LACKS, '7'), anEvent('{', '8')], LACKS],
])('the last verdict about a migration %s', (_, events, want) => {
  expect(knownVerdicts(events).get(verdictKey('tenant', UID))).toEqual(want);
});

test.each(ATTACKS)('a verdict that a tenant wrote, with %s, is safe', (_, attack) => {
  const text = attack.slice(0, 100);
  const forged = [
    { reason: text, message: text },
    { reason: 'NotEnough', quotas: [{ name: text, missing: { pods: '1' } }] },
    { reason: 'NotEnough', quotas: [{ name: 'quota', missing: { [text]: text } }] },
  ];
  for (const verdict of forged) {
    const [known] = knownVerdicts([anEvent(verdict, '7')]).values();
    expect(textsOf(known).filter((each) => HIDING.test(each))).toEqual([]);
  }
});
