import { expect, test } from '@jest/globals';
import { aReceiver, aRecordedRun, summary } from '../../../test/support/builders/live-run.ts';
import { aRecord, aVm } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { decide } from './ensure-resources.ts';

const CANARY = 'Y2FuYXJ5';
const VM = aVm((vm) => {
  const { template } = vm.spec;
  const accessCredentials = [{ userPassword: { source: { secret: { secretName: 'login' } } } }];
  return {
    ...vm,
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, accessCredentials } } },
  };
});
const secret = (data: object, type = 'Opaque'): KubernetesObject =>
  ({ ...LIVE_KIND.secret, metadata: metadata('login'), type, data }) as never;
const LOGIN = secret({ password: CANARY });

const withSecrets = (source: readonly KubernetesObject[], target: readonly KubernetesObject[]): RecordedRun =>
  aRecordedRun(aRecord(), {
    source: { vm: VM, setup: { claims: new Map(), resources: source } },
    target: { setup: { volumes: [], resources: target, quotas: [], claimProperties: new Map() } },
  });

test.each<[string, RecordedRun, string]>([
  ['nothing is needed', aRecordedRun(), 'done'],
  ['a secret of the source only', withSecrets([LOGIN], []), 'create Secret login on target'],
  ['the same on both', withSecrets([LOGIN], [LOGIN]), 'done'],
  ['on the target only', withSecrets([], [LOGIN]), 'fail ResourceFailed'],
  ['on neither', withSecrets([], []), 'fail ResourceFailed'],
  ['another content', withSecrets([LOGIN], [secret({ password: 'b3RoZXI=' })]), 'fail ResourceFailed'],
  ['a token', withSecrets([secret({}, 'kubernetes.io/service-account-token')], []), 'fail ResourceFailed'],
  [
    'the VM is there already',
    { ...withSecrets([LOGIN], []), target: { ...withSecrets([LOGIN], []).target, vm: aReceiver() } },
    'done',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

/** The VM with an instance type of this kind, by a ControllerRevision. */
function withInstancetype(
  kind: Pick<KubernetesObject, 'kind'>,
  [source, target]: readonly (readonly number[])[],
): RecordedRun {
  const ofSize = (guest: number): KubernetesObject =>
    ({ ...kind, metadata: metadata('large'), spec: { cpu: { guest } } }) as never;
  const run = withSecrets((source ?? []).map(ofSize), (target ?? []).map(ofSize));
  const instancetype = { ...kind, name: 'large', revisionName: 'web-large-1' };
  const vm = aVm((one) => ({ ...one, spec: { ...one.spec, instancetype } }));
  return { ...run, source: { ...run.source, vm: { ...run.source.vm, spec: vm.spec } } };
}

test.each<[string, RecordedRun, string]>([
  [
    'one of the source’s namespace',
    withInstancetype(LIVE_KIND.instancetype, [[2]]),
    'create VirtualMachineInstancetype large on target',
  ],
  ['the same cluster-wide one', withInstancetype(LIVE_KIND.clusterInstancetype, [[2], [2]]), 'done'],
  [
    'another cluster-wide one',
    withInstancetype(LIVE_KIND.clusterInstancetype, [[2], [4]]),
    'fail ResourceFailed',
  ],
  [
    'a cluster-wide one of the source only',
    withInstancetype(LIVE_KIND.clusterInstancetype, [[2]]),
    'fail ResourceFailed',
  ],
  [
    'one of which it is not known what the VM runs with',
    withInstancetype(LIVE_KIND.instancetype, [[], [2]]),
    'fail ResourceFailed',
  ],
])('an instance type: %s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('a difference is named by its part, never by its content', () => {
  const decision = decide(withSecrets([LOGIN], [secret({ password: 'b3RoZXI=' })]));
  expect(decision).toMatchObject({
    message: 'Secret login on the target differs in data: rename one of them, or make them the same',
  });
  expect(JSON.stringify(decision)).not.toMatch(new RegExp(`${CANARY}|b3RoZXI=`));
});
