import { expect, test } from '@jest/globals';
import {
  aRecordedRun,
  aRun,
  firstAttempt,
  going,
  migrated,
  OWN_STATE,
  sent,
  showing,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aPlan, aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { metadata, seconds } from '../../../test/support/builders/object.ts';
import { fingerprintOf } from '../on-target/edits.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import type { Namespace } from '../../domain/objects.ts';
import { decide } from './started.ts';

const HALTED = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
const STOPPING = aVm((vm) => ({
  ...vm,
  status: { ...vm.status, stateChangeRequests: [{ action: 'Stop', uid: 'uid-of-source-vmi' }] },
}));
const NAMESPACE: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: metadata('target') };
const forbidden = (hub: Different['hub'] = {}): RunSnapshot => {
  const { setup } = aRun().target;
  return aRecordedRun(aRecord(), {
    hub,
    target: { setup: setup && { ...setup, isForbidden: true as const } },
  });
};
const hidden = (what: 'of namespace' | 'of cluster', hub: Different['hub'] = {}): RunSnapshot => {
  const { setup } = aRun().source;
  return aRecordedRun(aRecord(), { hub, source: { setup: setup && { ...setup, forbidden: [what] } } });
};
const GOING = { namespace: going()(NAMESPACE) };

test.each<[string, RunSnapshot, string]>([
  ['a VM without a record gets one first', aRun(), 'replace VirtualMachine web on source'],
  ['a VM that is gone', aRun({ source: { vm: undefined } }), 'fail SourceGone'],
  ['a VM that is stopped', aRun({ source: { vm: HALTED, vmi: undefined } }), 'fail SourceStopped'],
  [
    'a VM that is just starting',
    aRun({ source: { vmi: itsVmi((vmi) => ({ ...vmi, status: {} })) } }),
    'fail SourceStopped',
  ],
  ['a VM that is being stopped', aRun({ source: { vmi: going()(itsVmi()) } }), 'fail SourceStopped'],
  ['a VM that is being deleted', aRun({ source: { vm: going()(aVm()) } }), 'fail SourceStopped'],
  ['a VM with its record', aRecordedRun(), 'done'],
  [
    'a VM with its record that is stopped before anything is made',
    aRecordedRun(aRecord(), { source: { vm: HALTED, vmi: going()(itsVmi()) } }),
    'fail SourceStopped',
  ],
  [
    'one whose stop is requested',
    aRecordedRun(aRecord(), { source: { vm: STOPPING } }),
    'fail SourceStopped',
  ],
  [
    'one that is being deleted',
    aRecordedRun(aRecord(), { source: { vm: going()(aVm()) } }),
    'fail SourceStopped',
  ],
  [
    'a VM that was stopped while its guest was copied',
    firstAttempt({ source: { vm: HALTED, vmi: going()(itsVmi()), vmims: [sent('Running')] } }),
    'done',
  ],
  [
    'no namespace on the target',
    aRecordedRun(aRecord(), { target: { namespace: undefined } }),
    'create Namespace target on target',
  ],
  [
    'no namespace where the record says',
    aRecordedRun(
      aRecord((record) => ({ ...record, target: { ...record.target, namespace: 'other' } })),
      { target: { namespace: undefined } },
    ),
    'create Namespace other on target',
  ],
  ['a namespace that is being deleted', aRecordedRun(aRecord(), { target: GOING }), 'wait ReceiverPending'],
  [
    'a namespace that is being deleted for almost a quarter of an hour',
    aRecordedRun(aRecord(), { target: GOING, hub: showing('ReceiverPending', 899) }),
    'wait ReceiverPending',
  ],
  [
    'a namespace that is being deleted for longer',
    aRecordedRun(aRecord(), { target: GOING, hub: showing('ReceiverPending', 900) }),
    'fail ReceiverFailed',
  ],
  ['no right to Secrets of the namespace', forbidden(), 'wait Refused'],
  ['no such right for a quarter of an hour', forbidden(showing('Refused', 900)), 'fail Refused'],
  ['no right to Secrets of the source’s namespace', hidden('of namespace'), 'wait Refused'],
  [
    'no such right there for a quarter of an hour',
    hidden('of namespace', showing('Refused', 900)),
    'fail Refused',
  ],
  ['no right to ControllerRevisions', hidden('of cluster'), 'wait Refused'],
  ['a namespace that is being deleted with the VM in it', firstAttempt({ target: GOING }), 'done'],
  ['a namespace that is gone with the VM in it', firstAttempt({ target: { namespace: undefined } }), 'done'],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('the record says whose it is, what moves, and how the VM ran', () => {
  expect(writtenRecord(decide(aRun()))).toEqual({
    v: 1,
    migration: { namespace: 'tenant', name: 'migration', uid: RUN.migration },
    hub: 'hub',
    fingerprint: fingerprintOf(aVm()),
    vm: RUN.vm,
    vmi: 'uid-of-source-vmi',
    runStrategy: 'Always',
    target: { cluster: 'target', namespace: 'target', name: 'web' },
    startedAt: seconds(0),
    transferSeconds: 3_600,
    attempt: 0,
    hooks: [],
    marks: [],
  });
});

test.each<[string, RunSnapshot, object]>([
  [
    'the migration that the VMI had before',
    aRun({ source: { vmi: itsVmi(migrated(OWN_STATE)) } }),
    { before: 'uid-of-sent' },
  ],
  [
    'the name on the target',
    aRun({ hub: { entry: { name: 'web', targetName: 'web-2' } } }),
    { target: { cluster: 'target', namespace: 'target', name: 'web-2' } },
  ],
  [
    'a transfer deadline of the provider’s',
    aRun({ hub: { settings: { ...aRun().hub.settings, transferMs: 60_000 }, plan: aPlan() } }),
    { transferSeconds: 60 },
  ],
])('the record has %s', (_what, run, wanted) => {
  expect(writtenRecord(decide(run))).toMatchObject(wanted);
});

test('nothing but the annotation of the VM changes, by the version that was read', () => {
  const decision = decide(aRun());
  if (decision.kind !== 'write') throw new Error('it must write');
  const [write] = decision.writes;
  const { annotations, ...rest } = write?.object.metadata ?? { name: '' };
  expect({ ...write?.object, metadata: rest }).toEqual(aVm());
  expect(Object.keys(annotations ?? {})).toEqual(['live.mtq.kubevirt.io/run']);
});
