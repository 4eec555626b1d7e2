import { expect, test } from '@jest/globals';
import {
  aReceiver,
  aRecordedRun,
  aRun,
  arrived,
  aTargetNamespace,
  aWaitingVmi,
  recorded,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aRecord } from '../../../test/support/builders/live.ts';
import { metadata, seconds } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { leftOnTarget } from './left-on-target.ts';

const END = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;
const OWN = { namespace: aTargetNamespace() };
const SECRET: KubernetesObject = {
  ...LIVE_KIND.secret,
  metadata: { ...metadata('init'), namespace: 'target' },
};

test.each<[string, Different['target'] & object, string[]]>([
  ['nothing in a namespace that was there', { made: { volumes: [SECRET], unused: [SECRET] } }, []],
  ['the namespace that the plan made', OWN, ['Namespace target']],
  ['not the one of another plan', { namespace: aTargetNamespace('other') }, []],
  ['no namespace where there is none', { namespace: undefined }, []],
  [
    'copies that other VMs use',
    { made: { volumes: [], unused: [], used: [SECRET] } },
    ['Secret target/init'],
  ],
])('what stays on the target on purpose: %s', (_what, target, wanted) => {
  expect(leftOnTarget(aRecordedRun(recorded({ end: END }), { target }))).toEqual(wanted);
});

const GONE = { source: { vm: undefined, vmi: undefined } };

test('what stays on the target is listed too where the source VM was deleted before its guest had left', () => {
  const target = { ...OWN, made: { volumes: [], unused: [], used: [SECRET] } };
  expect(leftOnTarget(aRun({ ...GONE, target }))).toEqual(['Secret target/init', 'Namespace target']);
});

test.each<[string, RunSnapshot]>([
  [
    'is on the target alone',
    aRun({ ...GONE, target: { ...OWN, vm: aReceiver(), vmi: aWaitingVmi(arrived) } }),
  ],
  ['has not begun', aRun({ target: OWN })],
  ['goes on', aRecordedRun(aRecord(), { target: OWN })],
  ['is past its cut-over', aRecordedRun(recorded({ end: END, arrivedAt: seconds(0) }), { target: OWN })],
])('lists nothing that stays of a VM that %s', (_what, snapshot) => {
  expect(leftOnTarget(snapshot)).toEqual([]);
});
