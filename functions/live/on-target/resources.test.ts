import { describe, expect, test } from '@jest/globals';
import { aVm, RUN } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type {
  ControllerRevision,
  MatchedRef,
  Matcher,
  VirtualMachine,
  VmiSpec,
} from '../../domain/live/kubevirt.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import {
  copyOf,
  differingParts,
  isMadeBy,
  notPortable,
  resourceProblems,
  resourcesOf,
  storedIn,
  type Resource,
} from './resources.ts';

const vmWith = (spec: Partial<VmiSpec>, more: Partial<VirtualMachine['spec']> = {}): VirtualMachine =>
  aVm((vm) => {
    const { template } = vm.spec;
    const changed = { ...template, spec: { ...template.spec, ...spec } };
    return { ...vm, spec: { ...vm.spec, template: changed, ...more } };
  });
const found = (vm: VirtualMachine): string[] => resourcesOf(vm).map(({ kind, name }) => `${kind} ${name}`);

describe('resourcesOf', () => {
  test.each<[string, VirtualMachine, string[]]>([
    ['a VM without any', aVm(), []],
    [
      'volumes',
      vmWith({
        volumes: [
          { name: 'a', secret: { secretName: 'keys' } },
          { name: 'b', configMap: { name: 'files' } },
          {
            name: 'c',
            cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } },
          },
          { name: 'd', cloudInitConfigDrive: { secretRef: { name: 'user' } } },
          { name: 'e', sysprep: { configMap: { name: 'answers' } } },
          { name: 'f', sysprep: { secret: { name: 'unattend' } } },
          { name: 'g', containerDisk: { image: 'i', imagePullSecret: 'registry' } },
          { name: 'h', cloudInitNoCloud: { userData: 'inline' } },
        ],
      }),
      [
        'Secret keys',
        'ConfigMap files',
        'Secret user',
        'Secret net',
        'ConfigMap answers',
        'Secret unattend',
        'Secret registry',
      ],
    ],
    [
      'access credentials and a kernel from a registry',
      vmWith({
        accessCredentials: [
          { sshPublicKey: { source: { secret: { secretName: 'ssh' } } } },
          { userPassword: { source: { secret: { secretName: 'login' } } } },
        ],
        domain: { firmware: { kernelBoot: { container: { imagePullSecret: 'registry' } } } },
      }),
      ['Secret ssh', 'Secret login', 'Secret registry'],
    ],
    [
      'instance types and preferences of the namespace, in any case',
      vmWith(
        {},
        {
          instancetype: { kind: 'virtualmachineinstancetype', name: 'large' },
          preference: { kind: 'VirtualMachinePreference', name: 'linux' },
        },
      ),
      ['VirtualMachineInstancetype large', 'VirtualMachinePreference linux'],
    ],
    [
      'those of the cluster, also by no kind or a plural',
      vmWith(
        {},
        {
          instancetype: { kind: 'virtualmachineclusterinstancetypes', name: 'large' },
          preference: { kind: '', name: 'linux' },
        },
      ),
      ['VirtualMachineClusterInstancetype large', 'VirtualMachineClusterPreference linux'],
    ],
    [
      'none of another kind or without a name',
      vmWith(
        {},
        { instancetype: { kind: 'Flavor', name: 'large' }, preference: { inferFromVolume: 'root' } },
      ),
      [],
    ],
  ])('%s', (_what, vm, wanted) => {
    expect(found(vm)).toEqual(wanted);
  });

  const ref = (name: string, revision: string): MatchedRef => ({
    name,
    controllerRevisionRef: { name: revision },
  });

  test.each<[string, Matcher, MatchedRef | undefined, string | undefined]>([
    ['none where KubeVirt has stored none yet', { name: 'large' }, undefined, undefined],
    ['that of the spec', { name: 'large', revisionName: 'one' }, undefined, 'one'],
    ['that of the status', { name: 'large' }, ref('large', 'one'), 'one'],
    [
      'that of the spec first, as KubeVirt does',
      { name: 'large', revisionName: 'two' },
      ref('large', 'one'),
      'two',
    ],
    [
      'none where the status is about another instance type',
      { name: 'large' },
      ref('small', 'one'),
      undefined,
    ],
    ['none where the status names none', { name: 'large' }, { name: 'large' }, undefined],
  ])('has as the revision %s', (_what, ...[matcher, status, wanted]) => {
    const withBoth = {
      ...vmWith({}, { instancetype: matcher, preference: matcher }),
      status: status === undefined ? {} : { instancetypeRef: status, preferenceRef: status },
    };
    expect(resourcesOf(withBoth).map(({ revision }) => revision)).toEqual([wanted, wanted]);
  });
});

const LARGE: Resource = { ...LIVE_KIND.clusterInstancetype, name: 'large', revision: 'web-large-1' };
const V1BETA1 = 'instancetype.kubevirt.io/v1beta1';
const SPEC = { cpu: { guest: 2 }, memory: { guest: '4Gi' } };
const large = (spec: object = SPEC): KubernetesObject =>
  ({ ...LIVE_KIND.clusterInstancetype, metadata: { name: 'large' }, spec }) as never;

describe('what a ControllerRevision has', () => {
  test.each<[string, Pick<ControllerRevision, 'data'>, KubernetesObject | undefined]>([
    ['the object', { data: { apiVersion: V1BETA1, spec: SPEC } }, large()],
    ['one of a later version', { data: { apiVersion: 'instancetype.kubevirt.io/v1', spec: SPEC } }, large()],
    [
      'a spec that is wrapped, as before KubeVirt 1.0',
      { data: { apiVersion: '', spec: 'eyJjcHUiOnt9fQ==' } },
      undefined,
    ],
    ['no spec', { data: { apiVersion: V1BETA1 } }, undefined],
    ['nothing', {}, undefined],
    ['the pods of a StatefulSet', { data: { spec: { template: { spec: {} } } } }, undefined],
  ])('%s', (_what, data, wanted) => {
    expect(storedIn({ metadata: metadata('web-large-1'), ...data }, LARGE)).toEqual(wanted);
  });
});

describe('what keeps a cluster-wide instance type from being the same on the target', () => {
  const NONE: Resource = { ...LIVE_KIND.clusterInstancetype, name: 'large' };
  const LOST_LARGE =
    'VirtualMachineClusterInstancetype large is not on the source: create it there, or take it out of the VM and restart it while no ' +
    'run moves it';

  test.each<[string, Resource, KubernetesObject[], KubernetesObject[], string[]]>([
    ['nothing', LARGE, [large()], [large()], []],
    [
      'nothing: the same amounts, as their users wrote them',
      LARGE,
      [large({ memory: { guest: '4Gi', maxGuest: '8Gi' } })],
      [large({ memory: { guest: '4096Mi', maxGuest: 8589934592 } })],
      [],
    ],
    [
      'it is missing, because it is not copied',
      LARGE,
      [large()],
      [],
      ['VirtualMachineClusterInstancetype large is not on the target: have an admin install it there'],
    ],
    [
      'another content',
      NONE,
      [large()],
      [large({ ...SPEC, cpu: { guest: 4 } })],
      [
        'VirtualMachineClusterInstancetype large on the target differs in spec: rename one of them, or make them the same',
      ],
    ],
    [
      'another content than the VM runs with',
      LARGE,
      [large()],
      [large({ ...SPEC, memory: { guest: '4G' } })],
      [
        'VirtualMachineClusterInstancetype large on the target differs in spec from ControllerRevision web-large-1, which the VM runs ' +
          'with: rename one of them, or make them the same',
      ],
    ],
    [
      'it is not known what the VM runs with',
      LARGE,
      [],
      [large()],
      [
        'VirtualMachineClusterInstancetype large as the VM runs with it is not known, because ControllerRevision web-large-1 is not ' +
          'there or does not have it: let the VM name another one, and restart it while no run moves it',
      ],
    ],
    ['it is nowhere', NONE, [], [], [LOST_LARGE]],
    ['the source has it no more', NONE, [], [large()], [LOST_LARGE]],
  ])('%s', (_what, ...[resource, onSource, onTarget, wanted]) => {
    expect(resourceProblems([resource], { onSource, onTarget })).toEqual(wanted);
  });
});

const secret = (content: object = {}): Parameters<typeof copyOf>[0] =>
  ({
    ...LIVE_KIND.secret,
    metadata: {
      ...metadata('login'),
      labels: { app: 'web', plan: 'of-forklift', 'live.mtq.kubevirt.io/provider': 'true' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'password' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
      finalizers: ['example.com/f'],
    },
    type: 'kubernetes.io/basic-auth',
    data: { password: 'c2VjcmV0' },
    ...content,
  }) as never;

test('a copy keeps type and content, and leaves behind what belongs to its cluster', () => {
  const copy = copyOf(secret({ immutable: true }), RUN, 'target');
  expect(copy).toEqual({
    ...LIVE_KIND.secret,
    type: 'kubernetes.io/basic-auth',
    data: { password: 'c2VjcmV0' },
    immutable: true,
    metadata: {
      name: 'login',
      namespace: 'target',
      labels: { app: 'web', 'live.mtq.kubevirt.io/plan': RUN.plan },
      annotations: { 'live.mtq.kubevirt.io/made-by': `${RUN.migration} ${RUN.vm}` },
    },
  });
  expect(isMadeBy(copy as never, RUN)).toBe(true);
  expect(isMadeBy(copy as never, { ...RUN, migration: 'another' })).toBe(false);
  expect(isMadeBy(secret(), RUN)).toBe(false);
});

test.each<[string, object, string[]]>([
  ['the same content under other labels', secret(), []],
  ['another password', secret({ data: { password: 'b3RoZXI=' } }), ['data']],
  ['another type and one more part', secret({ type: 'Opaque', immutable: true }), ['type', 'immutable']],
  ['one more part that is a spec', secret({ spec: {} }), ['spec']],
])('%s on the target differs in', (_what, target, parts) => {
  expect(differingParts(secret(), target as never)).toEqual(parts);
});

test('tokens of service accounts are not copied', () => {
  expect(notPortable(secret({ type: 'kubernetes.io/service-account-token' }))).toBe(
    'Secret login is of type kubernetes.io/service-account-token, which means nothing on another cluster: take it out of the VM',
  );
  expect(notPortable(secret())).toBeUndefined();
});

const LOST_LOGIN =
  'Secret login is not on the source: create it there, or take it out of the VM and restart it while no run moves it';

test.each<[string, object]>([
  ['needs it', {}],
  ['does not, but would get one that is made later', { optional: true }],
])('a Secret that is not on the source is refused, whatever is on the target: its VM %s', (_what, how) => {
  const vm = vmWith({ volumes: [{ name: 'a', secret: { secretName: 'login', ...how } }] });
  const problems = [[], [secret()]].map((onTarget) =>
    resourceProblems(resourcesOf(vm), { onSource: [], onTarget }),
  );
  expect(problems).toEqual([[LOST_LOGIN], [LOST_LOGIN]]);
});
