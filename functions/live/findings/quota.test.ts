import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, anAttachment } from '../../../test/support/builders/kubevirt.ts';
import {
  aKubeVirt,
  aPlanView,
  aSource,
  aTarget,
  aVmView,
  ready,
} from '../../../test/support/builders/live-plan.ts';
import { aHost, aPlan, aStorageMap, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import type { PlanView, TargetView } from './plan-view.ts';
import type { Pod, ResourceList, ResourceQuota } from '../../domain/objects.ts';
import { planFindings } from './plan.ts';
import { rawText } from '../../../test/support/raw-text.ts';

/** The launcher requests 1005m CPU and 1,412,828,864 bytes; the DataVolume has 10Gi of class `gold` on the target. */
const launcher = aLauncher();
const LARGE = aLauncher('vm0', (pod) => ({
  ...pod,
  spec: { ...pod.spec, containers: [aContainer({ cpu: '2010m', memory: '1' })] },
}));
const NAMES = ['web', 'db', 'mail'];
const uidOf = (name: string): string => (name === 'web' ? RUN.vm : `uid-of-${name}`);
const vmNamed = (name: string): VirtualMachine =>
  aVm((vm) => ({ ...vm, metadata: { ...vm.metadata, name, uid: uidOf(name) } }));

const TPM = { devices: { tpm: { persistent: true } } };
const { spec: itsSpec } = itsVmi();
const tpmSpec = { ...itsSpec, domain: { ...itsSpec.domain, ...TPM } };
const withTpm = aVmView({
  found: [aVm((vm) => ({ ...vm, spec: { ...vm.spec, template: { ...vm.spec.template, spec: tpmSpec } } }))],
  vmi: itsVmi((vmi) => ({ ...vmi, spec: tpmSpec })),
});

/** A quota with no usage. */
const room = (list: ResourceList): ResourceQuota =>
  aQuota(hard(list), used(Object.fromEntries(Object.keys(list).map((key) => [key, '0']))));

interface Case {
  readonly quotas: ResourceQuota[];
  readonly vms?: number;
  readonly pods?: readonly Pod[];
  readonly hasTpm?: boolean;
  /** The class of the claims that keep the state of VMs on the target. */
  readonly stateClass?: string;
  readonly receives?: ResourceList;
  readonly allowOverQuota?: boolean;
  /** The first VM has two launchers' requests. */
  readonly isFirstLarge?: boolean;
  readonly volumeMode?: 'Block' | 'Filesystem';
  /** Secrets that each of the VMs names. */
  readonly secrets?: readonly string[];
}

const UNLESS_THERE = 'unless the Secrets and the like that it names are there already';
const withSecrets = (vm: VirtualMachine, secrets: readonly string[]): VirtualMachine => {
  const { template } = vm.spec;
  const accessCredentials = secrets.map((secretName) => ({
    userPassword: { source: { secret: { secretName } } },
  }));
  return {
    ...vm,
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, accessCredentials } } },
  };
};

function viewOf({
  quotas,
  vms = 1,
  pods = [launcher],
  hasTpm = false,
  stateClass,
  receives,
  allowOverQuota = false,
  isFirstLarge = false,
  volumeMode = 'Block',
  secrets = [],
}: Case): PlanView {
  const names = NAMES.slice(0, vms);
  const vmmrqs =
    receives === undefined
      ? []
      : [aVmmrq(giving(receives), (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, allowReceive: true } }))];
  const host = aHost('target', (provider) => ({
    ...provider,
    spec: { ...provider.spec, settings: allowOverQuota ? { allowOverQuota: 'true' } : {} },
  }));
  const storage = aStorageMap((map) => ({
    ...map,
    spec: {
      ...map.spec,
      map: [{ source: { name: 'fast' }, destination: { storageClass: 'gold', volumeMode } }],
    },
  }));
  const entries = names.map((name) => ({ name, namespace: 'vms' }));
  return aPlanView({
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, vms: entries } })),
    destination: ready(host),
    storage,
    sourceCluster: aSource({
      vms: names.map((name) =>
        hasTpm ? withTpm : aVmView({ found: [withSecrets(vmNamed(name), secrets)] }),
      ),
    }),
    targetCluster: withStateClass(aTarget({ quotas, vmmrqs }), stateClass),
    pods: new Map(names.map((name, index) => [uidOf(name), isFirstLarge && index === 0 ? [LARGE] : pods])),
  });
}

const withStateClass = (target: TargetView, vmStateStorageClass = ''): TargetView => {
  const kubevirt = target.kubevirt ?? aKubeVirt();
  const configuration = { ...kubevirt.spec?.configuration, vmStateStorageClass };
  return { ...target, kubevirt: { ...kubevirt, spec: { ...kubevirt.spec, configuration } } };
};

const said = (view: PlanView): string[] =>
  planFindings(view)
    .filter(({ type }) => type !== 'Ready')
    .flatMap(({ type, category, items = [] }) => items.map((item) => `${category} ${type} ${rawText(item)}`));

describe('the quotas of the target namespace', () => {
  test.each<[string, Case, string[]]>([
    ['none', { quotas: [] }, []],
    ['with room', { quotas: [room({ pods: '2', 'requests.cpu': '2', 'requests.storage': '20Gi' })] }, []],
    [
      'a launcher that does not fit',
      { quotas: [room({ 'requests.cpu': '1' })] },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks requests.cpu=5m'],
    ],
    [
      'each VM after those before it',
      { quotas: [room({ 'requests.cpu': '2110m' })], vms: 3 },
      ['Warn OverQuota vms/mail: ResourceQuota quota lacks requests.cpu=905m'],
    ],
    [
      'what another quota is for',
      {
        quotas: [
          { ...room({ 'requests.cpu': '0' }), ...scoped({ scopes: ['Terminating'] })(room({ pods: '0' })) },
        ],
      },
      [],
    ],
    [
      'the VMIM that receives each VM, which goes before the next one',
      { quotas: [room({ 'count/virtualmachineinstancemigrations.kubevirt.io': '1' })], vms: 2 },
      [],
    ],
    [
      'no room for that VMIM, which no VMMRQ gives',
      {
        quotas: [room({ 'count/virtualmachineinstancemigrations.kubevirt.io': '0' })],
        receives: { cpu: '1' },
        allowOverQuota: true,
      },
      [
        'Warn OverQuota vms/web: ResourceQuota quota lacks count/virtualmachineinstancemigrations.kubevirt.io=1',
      ],
    ],
    ...[
      'count/virtualmachines.kubevirt.io',
      'count/virtualmachineinstances.kubevirt.io',
      'count/datavolumes.cdi.kubevirt.io',
    ].map((key): [string, Case, string[]] => [
      `${key} for the second VM, which no VMMRQ gives`,
      { quotas: [room({ [key]: '1' })], vms: 2, receives: { cpu: '1' }, allowOverQuota: true },
      [`Warn OverQuota vms/db: ResourceQuota quota lacks ${key}=1`],
    ]),
    ...['secrets', 'count/secrets'].map((key): [string, Case, string[]] => [
      `${key} for copies, each once`,
      { quotas: [room({ [key]: '1' })], vms: 2, secrets: ['login', 'keys'] },
      [`Warn OverQuota vms/web: ResourceQuota quota lacks ${key}=1, ${UNLESS_THERE}`],
    ]),
    [
      'a copy that two VMs need',
      { quotas: [room({ secrets: '1', 'count/secrets': '1' })], vms: 2, secrets: ['login'] },
      [],
    ],
    [
      'a quota of a scope, which counts no objects',
      {
        quotas: [
          scoped({ scopes: ['Terminating'] })(
            room({ 'count/virtualmachines.kubevirt.io': '0', 'count/secrets': '0' }),
          ),
        ],
        secrets: ['login'],
      },
      [],
    ],
    [
      'a quota of a scope, which counts no VMIM',
      {
        quotas: [
          scoped({ scopes: ['Terminating'] })(
            room({ 'count/virtualmachineinstancemigrations.kubevirt.io': '0' }),
          ),
        ],
      },
      [],
    ],
    [
      'attachment pods',
      { quotas: [room({ pods: '2' })], vms: 2, pods: [launcher, anAttachment(launcher)] },
      ['Warn OverQuota vms/db: ResourceQuota quota lacks pods=2'],
    ],
    [
      'disks, of their class',
      { quotas: [room({ 'gold.storageclass.storage.k8s.io/requests.storage': '9Gi' })] },
      [
        'Warn OverQuota vms/web: ResourceQuota quota lacks gold.storageclass.storage.k8s.io/requests.storage=1Gi',
      ],
    ],
    [
      'disks twice while CDI fills them',
      { quotas: [room({ 'requests.storage': '15Gi' })] },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks requests.storage=5Gi while CDI fills its volumes'],
    ],
    [
      'file systems, with the overhead that CDI adds',
      { quotas: [room({ 'requests.storage': '10Gi' })], volumeMode: 'Filesystem' },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks requests.storage=654Mi'],
    ],
    [
      'a VM that does not fit takes no room from those after it',
      { quotas: [room({ 'requests.cpu': '1005m' })], vms: 2, isFirstLarge: true },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks requests.cpu=1005m'],
    ],
    [
      'limits that the target’s KubeVirt adds',
      { quotas: [room({ 'limits.memory': '2Gi' })] },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks limits.memory=647Mi'],
    ],
    [
      'a VMMRQ that gives to pods, and not to CDI',
      {
        quotas: [room({ 'requests.cpu': '1', 'requests.storage': '15Gi' })],
        receives: { cpu: '10m' },
        allowOverQuota: true,
      },
      [
        'Warn OverQuota vms/web: ResourceQuota quota lacks requests.storage=5Gi while CDI fills its volumes',
        'Warn RestartWouldBeRefused vms/web: ResourceQuota quota lacks requests.cpu=5m',
      ],
    ],
    [
      'the claim that keeps its TPM',
      { quotas: [room({ persistentvolumeclaims: '1' })], hasTpm: true },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks persistentvolumeclaims=1'],
    ],
    [
      'that claim, of the class that the target’s KubeVirt gives it',
      {
        quotas: [room({ 'state.storageclass.storage.k8s.io/persistentvolumeclaims': '0' })],
        hasTpm: true,
        stateClass: 'state',
      },
      [
        'Warn OverQuota vms/web: ResourceQuota quota lacks state.storageclass.storage.k8s.io/persistentvolumeclaims=1',
      ],
    ],
    [
      'a VM that does not run: that is another problem',
      { quotas: [room({ 'requests.cpu': '0' })], pods: [] },
      [],
    ],
    [
      'a VMMRQ that would let it in',
      { quotas: [room({ 'requests.cpu': '1' })], receives: { cpu: '10m' } },
      [
        'Warn OverQuota vms/web: ResourceQuota quota lacks requests.cpu=5m, which vmmrq would give once allowOverQuota is set',
      ],
    ],
    [
      'a VMMRQ that lets it in',
      { quotas: [room({ 'requests.cpu': '1' })], receives: { cpu: '10m' }, allowOverQuota: true },
      ['Warn RestartWouldBeRefused vms/web: ResourceQuota quota lacks requests.cpu=5m'],
    ],
    [
      'a VMMRQ that gives too little for the second one',
      { quotas: [room({ 'requests.cpu': '1' })], receives: { cpu: '10m' }, vms: 2, allowOverQuota: true },
      [
        'Warn OverQuota vms/db: ResourceQuota quota lacks requests.cpu=1010m',
        'Warn RestartWouldBeRefused vms/web: ResourceQuota quota lacks requests.cpu=5m',
      ],
    ],
    [
      'no VMMRQ gives room for disks',
      { quotas: [room({ 'requests.storage': '9Gi' })], receives: { cpu: '10' } },
      ['Warn OverQuota vms/web: ResourceQuota quota lacks requests.storage=1Gi'],
    ],
  ])('%s', (_what, given, wanted) => {
    const view = viewOf(given);
    expect(said(view)).toEqual(wanted);
    expect(planFindings(view).map(({ type }) => type)).toContain('Ready');
  });
});

test.each([false, true])(
  'a VMMRQ is not said to be enough on a cluster where nothing may serve it: allowOverQuota %s',
  (allowOverQuota) => {
    const view = viewOf({
      quotas: [room({ 'requests.cpu': '1' })],
      receives: { cpu: '10m' },
      allowOverQuota,
    });
    const [{ suggestion = '' } = {}] = planFindings(view).filter(({ items = [] }) => items.length > 0);
    expect(suggestion).toMatch(
      /A VMMRQ lets pods in only while managed-tenant-quota runs on the target too\.$/,
    );
  },
);

describe('a VM that has moved', () => {
  const FULL = aQuota(hard({ pods: '1' }), used({ pods: '1' }));
  const OVER = aQuota(hard({ pods: '1' }), used({ pods: '2' }));
  const moved = (quotas: ResourceQuota[], { isThere = true, newName = 'web' } = {}): string[] => {
    const view = viewOf({ quotas });
    const condition = {
      type: 'Succeeded',
      status: 'True',
      category: 'Advisory',
      lastTransitionTime: '',
    } as const;
    const shown = { id: RUN.vm, name: 'web', namespace: 'vms', newName, phase: 'Completed', pipeline: [] };
    const migration = { vms: [{ ...shown, conditions: [condition] }] };
    const vms = isThere ? new Map([[newName, vmNamed(newName)]]) : new Map();
    return said({
      ...view,
      plan: { ...view.plan, status: { ...view.plan.status, migration } },
      targetCluster: aTarget({ quotas, vms }),
    });
  };

  test.each<[string, string[], string[]]>([
    [
      'is over its quota as long as the namespace is',
      moved([OVER]),
      ['Warn RestartWouldBeRefused target/web: ResourceQuota quota lacks pods=1'],
    ],
    [
      'is named as on the target',
      moved([OVER], { newName: 'web-2' }),
      ['Warn RestartWouldBeRefused target/web-2: ResourceQuota quota lacks pods=1'],
    ],
    ['is not once there is room', moved([FULL]), []],
    ['is not once it is gone', moved([OVER], { isThere: false }), []],
  ])('%s', (_what, is, wanted) => {
    expect(is).toEqual(wanted);
  });
});
