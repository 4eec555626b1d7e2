import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  aLauncher,
  aMigration,
  refusedAt,
  aTarget,
  aVmi,
  inPhase,
  ofVm,
  podPhase,
  podSpec,
  aContainer,
  receiving,
  withCondition,
  withPriority,
} from '../../../test/support/builders/kubevirt.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedFor,
  lockedUnreadably,
} from '../../../test/support/builders/namespace.ts';
import {
  annotated,
  beingDeleted,
  createdAt,
  labelled,
  named,
  ownedBy,
  seconds,
} from '../../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  raisedBy,
  scoped,
  specHard,
  uncounted,
  used,
  withUncounted,
} from '../../../test/support/builders/quota.ts';
import {
  aClaim,
  aFailure,
  aLimitRange,
  exceeded,
  forbidden,
  keepingState,
} from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aView, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { assess, type Assessment } from './assessment.ts';
import { ANNOTATION, KUBEVIRT, REASON, type Reason } from '../names.ts';
import { MAX_LOCKED } from '../lock.ts';
import type { Migration, Pod, ResourceQuota } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';
import { parseQuantity } from '../quantity.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { VERDICTS, type Verdict, type VerdictName } from './verdict.ts';

/** Two VMs, each with a migration that is refused; mig0 is the older one. */
const TWO: Partial<NamespaceSnapshot> = {
  migrations: [aMigration(named('mig1'), ofVm('vm1'), createdAt(-30)), aMigration(createdAt(-60))],
  pods: [aLauncher(), aLauncher('vm1')],
  vmis: new Map([
    ['vm0', aVmi()],
    ['vm1', aVmi('vm1', 'node2')],
  ]),
  quotas: [
    aQuota(
      hard({ pods: '10', 'requests.cpu': '2410m', 'requests.memory': '4Gi' }),
      used({ pods: '2', 'requests.cpu': '2010m', 'requests.memory': '2825657728' }),
    ),
  ],
};

const manyQuotas = (count: number): ResourceQuota[] =>
  Array.from({ length: count }, (_, index) => aQuota(named(`quota-${String(index)}`)));

/** VMs with one migration each; the VMMRQ gives enough for all of them. */
function manyVms(count: number): Partial<NamespaceSnapshot> {
  const vms = Array.from({ length: count }, (_, index) => `vm${String(index)}`);
  return {
    migrations: vms.map((vm, index) => aMigration(named(`mig-of-${vm}`), ofVm(vm), createdAt(index - 900))),
    pods: vms.map((vm) => aLauncher(vm)),
    vmis: new Map(vms.map((vm) => [vm, aVmi(vm)])),
    view: aView({ left: { cluster: 1_000, node: 1_000, nodes: {} } }),
    vmmrqs: [aVmmrq(giving({ pods: '999', 'requests.cpu': '999', 'requests.memory': '999Gi' }))],
  };
}

const WITH_HEADROOM = hard({ pods: '10', 'requests.cpu': '9', 'requests.memory': '9Gi' });
const skipping = annotated(ANNOTATION.skip, 'true');

/** The requests of aLauncher, and a device that it might ask for besides. */
const SIZE = { cpu: '1005m', memory: '1412828864' };
const GPU = 'deviceclass.resource.kubernetes.io/gpu';
const GPUS = `requests.${GPU}`;

const TOO_LARGE = forbidden('maximum memory usage per Container is 1Gi, but limit is 2Gi');

interface Case {
  readonly with?: Partial<NamespaceSnapshot>;
  readonly rules?: Partial<typeof RULES>;
  /** The verdict of each migration in order, the reason, and words of the message. */
  readonly want: readonly (readonly [VerdictName, Reason, string?])[];
}

/** What the quota counts of a key, and what its pods are charged. */
const counted = (
  of: { used: string; charged: string },
  key = 'requests.cpu',
): NamespaceSnapshot['uncharged'] => {
  const amounts = { used: parseQuantity(of.used), charged: parseQuantity(of.charged) };
  return new Map([['uid-of-quota', new Map([[key, amounts]])]]);
};

/** A VM with memoryOvercommit, hotplugged from 1Gi to 2Gi. */
const OVERCOMMITTED: Partial<NamespaceSnapshot> = {
  pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1005m', memory: '712Mi' })] }))],
  vmis: new Map([
    [
      'vm0',
      {
        ...aVmi(),
        spec: { domain: { resources: { requests: { memory: '2Gi' } }, memory: { guest: '2Gi' } } },
        status: { memory: { guestRequested: '1Gi' } },
      },
    ],
  ]),
};

const CASES: Readonly<Record<string, Case>> = {
  'no migration at all': { with: { migrations: [] }, want: [] },
  'a migration that no quota refuses': { with: { migrations: [aMigration(withCondition())] }, want: [] },
  'a migration that is through': { with: { migrations: [aMigration(inPhase('Succeeded'))] }, want: [] },
  'a migration whose pod exists: the condition is stale': {
    with: { pods: [aLauncher(), aTarget()] },
    want: [],
  },
  'a migration that is cancelled': { with: { migrations: [aMigration(beingDeleted())] }, want: [] },

  'fits with a raise': {
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'quota lacks requests.cpu=605m, requests.memory=']],
  },
  'the VM has grown since: the message names the excess that stays (F37)': {
    with: { events: [aFailure(exceeded('quota', 'requests.cpu=1505m'))] },
    want: [
      [
        'FitsWithRaise',
        REASON.fitsWithRaise,
        'the VM needs more than before: ResourceQuota quota stays exceeded by requests.cpu=100m',
      ],
    ],
  },
  'the VM has grown within the quota: no excess stays': {
    with: { events: [aFailure(exceeded('quota', 'requests.cpu=1405m'))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'quota lacks requests.cpu=1005m, requests.memory=748Mi']],
  },
  'there is headroom by now': {
    with: { quotas: [aQuota(WITH_HEADROOM)] },
    want: [['Fits', REASON.fits, 'look again']],
  },
  'no quota at all: KubeVirt’s condition is stale': {
    with: { quotas: [] },
    want: [['Fits', REASON.fits]],
  },
  'a quota that does not count launchers does not block': {
    with: { quotas: [aQuota(scoped({ scopes: ['Terminating'] }))] },
    want: [['Fits', REASON.fits]],
  },
  'a full quota of a resource that the pod does not need does not block': {
    with: {
      quotas: [aQuota(hard({ 'requests.storage': '0', 'limits.ephemeral-storage': '0', services: '0' }))],
    },
    want: [['Fits', REASON.fits]],
  },

  'no VMMRQ': {
    with: { vmmrqs: [] },
    want: [['NoFit', REASON.noVmmrq, 'the namespace has no VirtualMachineMigrationResourceQuota']],
  },
  'the VMMRQ gives too little: the message names the key and the amount': {
    with: { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m', 'requests.memory': '1500Mi' }))] },
    want: [['NoFit', REASON.notEnough, 'VMMRQ vmmrq gives requests.cpu=600m, which is 5m too little']],
  },
  'the VMMRQ gives nothing of a key': {
    with: { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '2' }))] },
    want: [['NoFit', REASON.notEnough, 'gives requests.memory=0, which is 748Mi too little']],
  },
  'the VMMRQ gives an unreadable amount': {
    with: { vmmrqs: [aVmmrq(giving({ 'requests.cpu': 'much', 'requests.memory': '-1' }))] },
    want: [['NoFit', REASON.notEnough]],
  },
  'an allowance of exactly the shortfall is enough': {
    with: { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '605m', 'requests.memory': '783683264' }))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'an allowance of one byte less is not': {
    with: { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '605m', 'requests.memory': '783683263' }))] },
    want: [['NoFit', REASON.notEnough, 'which is 1 too little']],
  },
  'several VMMRQs add up (F10)': {
    with: {
      vmmrqs: [
        aVmmrq(giving({ 'requests.cpu': '605m' })),
        aVmmrq(named('more'), giving({ 'requests.memory': '1Gi' })),
      ],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'a quota and a VMMRQ that name it otherwise (F25)': {
    with: {
      quotas: [aQuota(hard({ cpu: '1405m' }), used({ cpu: '1005m' }))],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '605m' }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'quota lacks cpu=605m']],
  },
  'the number of pods': {
    with: {
      quotas: [aQuota(hard({ 'count/pods': '1' }), used({ 'count/pods': '1' }))],
      vmmrqs: [aVmmrq(giving({ pods: 1 }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'count/pods=1']],
  },
  'limits are charged where the pod has them': {
    with: {
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1' }, { cpu: '2' })] }))],
      quotas: [aQuota(hard({ 'limits.cpu': '3' }), used({ 'limits.cpu': '2' }))],
      vmmrqs: [aVmmrq(giving({ 'limits.cpu': '1' }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'limits.cpu=1']],
  },
  'a quota lowered below the usage: the excess is part of the shortfall': {
    with: {
      quotas: [aQuota(hard({ 'requests.cpu': '500m' }), used({ 'requests.cpu': '1005m' }))],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1509m' }))],
    },
    want: [['NoFit', REASON.notEnough, 'which is 1m too little']],
  },
  'several quotas: both are raised': {
    with: {
      quotas: [
        aQuota(),
        aQuota(named('other'), hard({ 'requests.cpu': '1100m' }), used({ 'requests.cpu': '1005m' })),
      ],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'other lacks requests.cpu=910m']],
  },
  'several quotas: the largest shortfall decides': {
    with: {
      quotas: [
        aQuota(),
        aQuota(named('other'), hard({ 'requests.cpu': '1' }), used({ 'requests.cpu': '1005m' })),
      ],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1009m', 'requests.memory': '2Gi' }))],
    },
    want: [['NoFit', REASON.notEnough, 'which is 1m too little']],
  },
  'several quotas: in any order': {
    with: {
      quotas: [
        aQuota(hard({ 'requests.cpu': '1' }), used({ 'requests.cpu': '1005m' })),
        aQuota(named('other'), hard({ 'requests.cpu': '1001m' }), used({ 'requests.cpu': '1005m' })),
      ],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1', 'requests.memory': '2Gi' }))],
    },
    want: [['NoFit', REASON.notEnough, 'which is 10m too little']],
  },
  'several quotas and a percentage: what is given for the quota that lacks most beyond it': {
    with: {
      quotas: [
        aQuota(hard({ 'requests.cpu': '1' }), used({ 'requests.cpu': '1005m' })),
        aQuota(named('other'), hard({ 'requests.cpu': '2' }), used({ 'requests.cpu': '2200m' })),
      ],
      vmmrqs: [aVmmrq((vmmrq) => ({ ...vmmrq, spec: { additionalMigrationPercentage: '50%' } }))],
    },
    want: [['NoFit', REASON.notEnough, 'VMMRQ vmmrq gives requests.cpu=500m, which is 510m too little']],
  },

  // As KubeVirt sees it, by labels, whatever its owner is. A lock would count it as admitted, and record no failure.
  'a pod that the VM does not own has all the labels of its target': {
    with: { pods: [aLauncher(), aTarget(aMigration(), ownedBy([]))] },
    want: [['NotBlocked', REASON.admitted, 'virt-launcher-vm0-for-mig0']],
  },
  'a pod of another VM has all the labels of its target': {
    with: { pods: [aLauncher(), aTarget(aMigration(), ownedBy([]), labelled(KUBEVIRT.createdBy, 'other'))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'the VM is gone': { with: { vmis: new Map() }, want: [['NotBlocked', REASON.vmiGone, 'vm0 is gone']] },
  'the VM has no running pod': {
    with: { pods: [aLauncher('vm0', podPhase('Succeeded'))] },
    want: [['Waiting', REASON.noSourcePod]],
  },
  'the quota counts a pod that is gone: recounted, the VMMRQ gives enough': {
    with: {
      quotas: [aQuota(used({ 'requests.cpu': '2010m' }))],
      uncharged: counted({ used: '2010m', charged: '1005m' }),
    },
    want: [['Waiting', REASON.notRecounted, 'is 1005m more than the pods of its namespace are charged']],
  },
  'the quota counts a pod that is gone: recounted, it has the headroom without a VMMRQ': {
    with: {
      quotas: [aQuota(hard({ 'requests.cpu': '2410m' }), used({ 'requests.cpu': '2010m' }))],
      uncharged: counted({ used: '2010m', charged: '1005m' }),
      vmmrqs: [],
    },
    want: [['Waiting', REASON.notRecounted, 'ResourceQuota quota lacks requests.cpu=605m']],
  },
  'the quota counts a pod that is gone, and recounted the VMMRQ gives too little': {
    with: {
      quotas: [aQuota(used({ 'requests.cpu': '2010m' }))],
      uncharged: counted({ used: '2010m', charged: '1005m' }),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m', 'requests.memory': '2Gi' }))],
    },
    want: [['NoFit', REASON.notEnough, 'the quota controller does not recount']],
  },
  'the quota counts the object of a pod that is gone': {
    with: {
      quotas: [aQuota(hard({ 'count/pods': '2' }), used({ 'count/pods': '3' }))],
      uncharged: counted({ used: '3', charged: '1' }, 'count/pods'),
      vmmrqs: [],
    },
    want: [
      ['Waiting', REASON.notRecounted, 'used count/pods of ResourceQuota quota is 2 more than the pods'],
    ],
  },
  'the quota counts a device of a pod that is gone, or of a ResourceClaim: that is not known': {
    with: {
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ ...SIZE, 'example.com/gpu': '1' })] }))],
      quotas: [aQuota(hard({ 'requests.example.com/gpu': '2' }), used({ 'requests.example.com/gpu': '2' }))],
      uncharged: counted({ used: '2', charged: '1' }, 'requests.example.com/gpu'),
      vmmrqs: [],
    },
    want: [
      [
        'NoFit',
        REASON.noVmmrq,
        'gpu of ResourceQuota quota is 1 more than the pods of its namespace are charged: by ResourceClaims, or the quota controller does not recount',
      ],
    ],
  },
  'the quota counts a pod that is gone, and a raise helps all the same': {
    with: {
      quotas: [aQuota(used({ 'requests.cpu': '1105m' }))],
      uncharged: counted({ used: '1105m', charged: '1005m' }),
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'hooks were added after its launcher was created: nothing shows yet what they need': {
    with: { vmis: new Map([['vm0', annotated(KUBEVIRT.hookSidecars, '[{}]')(aVmi())]]) },
    want: [['Waiting', REASON.sizeUnknown, 'annotation hooks.kubevirt.io/hookSidecars']],
  },
  'hooks were added, and a quota that has headroom says nothing of them': {
    with: {
      vmis: new Map([['vm0', annotated(KUBEVIRT.hookSidecars, '[{}]')(aVmi())]]),
      quotas: [aQuota(hard({ pods: '10', 'requests.cpu': '9', 'requests.memory': '9Gi' }))],
    },
    want: [['Waiting', REASON.sizeUnknown]],
  },
  'hooks were added, and a refusal shows the size': {
    with: {
      vmis: new Map([['vm0', annotated(KUBEVIRT.hookSidecars, '[{}]')(aVmi())]]),
      events: [aFailure(exceeded('quota', 'requests.cpu=1105m'))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=705m']],
  },
  'its launcher was created with these hooks': {
    with: {
      vmis: new Map([['vm0', annotated(KUBEVIRT.hookSidecars, '[{}]')(aVmi())]]),
      pods: [aLauncher('vm0', annotated(KUBEVIRT.hookSidecars, '[{}]'))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'its networks were changed, which only the next launcher has': {
    with: {
      vmis: new Map([
        ['vm0', { ...aVmi(), status: { conditions: [{ type: 'MigrationRequired', status: 'True' }] } }],
      ]),
    },
    want: [['Waiting', REASON.sizeUnknown, 'condition MigrationRequired']],
  },
  'memory was hotplugged to a VM that requested less than its guest, and nothing shows the overhead': {
    with: OVERCOMMITTED,
    want: [['Waiting', REASON.sizeUnknown, 'the memory that was hotplugged']],
  },
  'memory was hotplugged to it, and a refusal shows the size': {
    with: { ...OVERCOMMITTED, events: [aFailure(exceeded('quota', 'requests.memory=2251Mi'))] },
    want: [['NoFit', REASON.notEnough]],
  },
  'it receives a VM: its pod stays for good (F42)': {
    with: {
      migrations: [aMigration(receiving('abc'))],
      events: [aFailure(exceeded('quota', 'requests.cpu=1005m'))],
    },
    want: [['Unsupported', REASON.receiveNotAllowed, 'stays for good']],
  },
  'the quota controller has not looked yet': {
    with: { quotas: [aQuota(uncounted())] },
    want: [
      [
        'Waiting',
        REASON.statusUnknown,
        'quota has pods=10 in spec.hard, and no pods in status.hard: the quota',
      ],
    ],
  },
  'it has not followed a change of the spec yet': {
    with: { quotas: [aQuota(specHard({ pods: '10', 'requests.cpu': '9', 'requests.memory': '9Gi' }))] },
    want: [
      [
        'Waiting',
        REASON.statusUnknown,
        'ResourceQuota quota has requests.cpu=9 in spec.hard, and requests.cpu=1405m in status.hard: the quota',
      ],
    ],
  },
  'it has not dropped a key of the spec yet': {
    with: { quotas: [aQuota(specHard({ pods: '10', 'requests.cpu': '1405m' }))] },
    want: [
      [
        'Waiting',
        REASON.statusUnknown,
        'no requests.memory in spec.hard, and requests.memory=1.91Gi in status.hard',
      ],
    ],
  },
  'it has not followed a change that rounding would hide': {
    with: {
      quotas: [aQuota(specHard({ pods: '10', 'requests.cpu': '1405m', 'requests.memory': '2041974465' }))],
    },
    want: [
      [
        'Waiting',
        REASON.statusUnknown,
        'requests.memory=2041974465 in spec.hard, and requests.memory=2041974464 in status.hard',
      ],
    ],
  },
  'it has not counted a key yet': {
    with: {
      quotas: [aQuota((quota) => ({ ...quota, status: { ...quota.status, used: { pods: '1' } } }))],
    },
    want: [['Waiting', REASON.statusUnknown, 'quota has no requests.cpu in status.used: the quota']],
  },

  'an older cluster does not know device classes, and its pod asks for none': {
    with: { quotas: [aQuota(withUncounted({ [GPUS]: '1' }))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'nor would it count the device that its pod asks for': {
    with: {
      quotas: [aQuota(withUncounted({ [GPUS]: '1' }))],
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ ...SIZE, [GPU]: '1' })] }))],
    },
    want: [['Waiting', REASON.statusUnknown]],
  },
  'its pod asks for no device that was not counted, but for another': {
    with: {
      quotas: [aQuota(withUncounted({ [GPUS]: '1' }))],
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ ...SIZE, [`${GPU}-2`]: '1' })] }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'a device class that was added to the quota a moment ago': {
    with: {
      quotas: [aQuota((quota) => specHard({ ...quota.spec.hard, [GPUS]: '1' })(quota))],
    },
    want: [['Waiting', REASON.statusUnknown]],
  },

  'it will never count a key that it does not know, and no pod waits for that': {
    with: {
      quotas: [aQuota(withUncounted({ 'count/widgets.example.com': '1' }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },

  'a quota gets limits after the VM started: KubeVirt gives the target limits by itself': {
    with: {
      quotas: [aQuota(hard({ 'limits.cpu': '3', 'limits.memory': '3Gi' }), used({ 'limits.cpu': '2500m' }))],
      vmmrqs: [aVmmrq(giving({ 'limits.cpu': '500m' }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'limits.cpu=500m']],
  },
  'the amounts in virt-controller’s Event override the estimate': {
    with: {
      events: [aFailure(exceeded('quota', 'requests.cpu=1200m'))],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '799m', 'requests.memory': '1Gi' }))],
    },
    want: [['NoFit', REASON.notEnough, 'which is 1m too little']],
  },
  'a quota that is not of the namespace refuses it (F27)': {
    with: { events: [aFailure(exceeded('of-the-cluster', 'limits.memory=678174080'))] },
    want: [
      [
        'Unsupported',
        REASON.clusterQuota,
        'the quota of-the-cluster, which is not of this namespace (a ClusterResourceQuota?), refuses the pod: requested limits.memory=647Mi, used',
      ],
    ],
  },
  'a quota requires a value that the pod does not have': {
    with: { events: [aFailure(forbidden('failed quota: quota: must specify requests.cpu for: hook'))] },
    want: [['Unsupported', REASON.mustSpecify, 'must specify requests.cpu for: hook']],
  },
  'the quota does not require that value any more': {
    with: { events: [aFailure(forbidden('failed quota: quota: must specify limits.cpu for: hook'))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'a quota will require a value that the pod will not have': {
    with: {
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1' }), { name: 'injected' }] }))],
      quotas: [aQuota(hard({ 'requests.cpu': '1' }))],
    },
    want: [['Unsupported', REASON.mustSpecify, 'requests.cpu for: injected']],
  },
  'it was refused for an amount, so it has all required values, whatever the source pod has': {
    with: {
      events: [aFailure(exceeded('quota', 'requests.cpu=1200m'))],
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1' }), { name: 'injected' }] }))],
      quotas: [aQuota(hard({ 'requests.cpu': '1500m' }))],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=']],
  },
  'a quota was not counted when it was refused, and is now': {
    with: { events: [aFailure(forbidden('status unknown for quota: quota, resources: pods'))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'no quota covers it, and the cluster requires one': {
    with: { events: [aFailure(forbidden('insufficient quota to consume: requests.cpu'))] },
    want: [['Unsupported', REASON.noCoveringQuota, 'insufficient quota']],
  },
  'a LimitRange refuses it': {
    with: { events: [aFailure(TOO_LARGE)], limitRanges: [aLimitRange()] },
    want: [['Unsupported', REASON.limitRange, 'maximum memory usage']],
  },
  'a LimitRange refused it, and is gone': {
    with: { events: [aFailure(TOO_LARGE)] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'Pod Security refuses it': {
    with: { events: [aFailure(forbidden('violates PodSecurity "restricted:latest": privileged'))] },
    want: [['Unsupported', REASON.podSecurity, 'violates PodSecurity']],
  },
  'another webhook refuses it': {
    with: { events: [aFailure('admission webhook "pods.example.com" denied the request: not today')] },
    want: [['Unsupported', REASON.podRefused, 'not today']],
  },
  'our own guard refused it, while the namespace was locked for others': {
    with: { events: [aFailure('admission webhook "locked.mtq.kubevirt.io" denied the request: locked')] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'the last refusal counts': {
    with: {
      events: [
        aFailure(forbidden('violates PodSecurity "restricted:latest": x'), -6),
        aFailure(exceeded('quota', 'requests.cpu=1005m'), -5),
      ],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'a refusal from before the migration does not count, nor one of another VM': {
    with: {
      events: [
        aFailure(exceeded('of-the-cluster', 'pods=1'), -3_603),
        { ...aFailure(exceeded('of-the-cluster', 'pods=1')), involvedObject: { uid: 'uid-of-vm1' } },
      ],
    },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'a volume for the VM’s state is refused before the pod (F26)': {
    with: {
      vmis: new Map([['vm0', keepingState()]]),
      claims: [aClaim()],
      quotas: [
        aQuota(),
        aQuota(
          named('volumes'),
          hard({ persistentvolumeclaims: '1' }),
          used({ persistentvolumeclaims: '1' }),
        ),
      ],
    },
    want: [['Unsupported', REASON.volumeQuota, 'volumes lacks persistentvolumeclaims=1']],
  },

  'KubeVirt’s limit for the cluster is reached': {
    with: { view: aView({ left: { cluster: 0, node: 2, nodes: {} } }) },
    want: [['Waiting', REASON.parallelLimit, 'it runs at most 5 migrations at once, and 2 from one node']],
  },
  'KubeVirt’s limit is reached, and the VMMRQ gives too little: a free slot would not help': {
    with: {
      view: aView({ left: { cluster: 0, node: 2, nodes: {} } }),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))],
    },
    want: [['NoFit', REASON.notEnough]],
  },
  'KubeVirt’s limit is reached, and the lock budget is spent': {
    with: {
      view: aView({ left: { cluster: 0, node: 2, nodes: {} } }),
      namespace: aNamespace(afterAttempt(anAttempt({ locked: lockedFor(40_000) }))),
    },
    want: [['Waiting', REASON.lockBudgetSpent]],
  },
  'KubeVirt’s limit is reached, and a LimitRange refused the last attempt': {
    with: {
      view: aView({ left: { cluster: 0, node: 2, nodes: {} } }),
      events: [aFailure(TOO_LARGE)],
      limitRanges: [aLimitRange()],
    },
    want: [['Waiting', REASON.parallelLimit]],
  },
  'KubeVirt’s limit is reached, and a quota requires values that the pod will not have': {
    with: {
      view: aView({ left: { cluster: 0, node: 2, nodes: {} } }),
      pods: [aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1' }), { name: 'injected' }] }))],
      quotas: [aQuota(hard({ 'requests.cpu': '1' }))],
    },
    want: [['Unsupported', REASON.mustSpecify]],
  },
  'KubeVirt’s limit is reached, and of two migrations the VMMRQ gives enough for one': {
    with: { ...TWO, view: aView({ left: { cluster: 0, node: 2, nodes: {} } }) },
    want: [
      ['Waiting', REASON.parallelLimit],
      ['Waiting', REASON.parallelLimit],
    ],
  },
  'KubeVirt’s limit for the node is reached': {
    with: { view: aView({ left: { cluster: 3, node: 2, nodes: { node1: 0 } } }) },
    want: [['Waiting', REASON.parallelLimit, '2 from one node']],
  },
  'migrations from two nodes: the limit of each counts alone': {
    with: {
      ...TWO,
      view: aView({ left: { cluster: 5, node: 1, nodes: {} } }),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' }))],
    },
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['FitsWithRaise', REASON.fitsWithRaise],
    ],
  },
  'two migrations from one node, which takes one more': {
    with: {
      ...TWO,
      view: aView({ left: { cluster: 5, node: 1, nodes: {} } }),
      vmis: new Map([
        ['vm0', aVmi('vm0')],
        ['vm1', aVmi('vm1')],
      ]),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' }))],
    },
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['Waiting', REASON.parallelLimit, 'from one node'],
    ],
  },
  'the limit of another node does not matter': {
    with: { view: aView({ left: { cluster: 3, node: 2, nodes: { node9: 0 } } }) },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'the guard does not answer whether there is a slot, and the refusal is old': {
    with: { view: undefined },
    want: [['Waiting', REASON.viewUnavailable, 'the guard did not answer']],
  },
  'the guard does not answer whether there is a slot, and it was refused a moment ago': {
    with: { view: undefined, migrations: [aMigration(refusedAt(-3))] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'the incumbent is there': {
    with: { view: aView({ incumbent: 'the incumbent is installed: remove it' }) },
    want: [['Unsupported', REASON.incumbentPresent, 'remove it']],
  },

  'the namespace is locked': {
    with: { namespace: aNamespace(lockedBy(aLock())) },
    want: [['Waiting', REASON.alreadyLocked, 'for mig0, for a few seconds']],
  },
  'the lock is past its time': {
    with: { namespace: aNamespace(lockedBy(anExpiredLock())) },
    want: [['Waiting', REASON.alreadyLocked, 'being repaired']],
  },
  'the lock cannot be read': {
    with: { namespace: aNamespace(lockedUnreadably()) },
    want: [['Waiting', REASON.alreadyLocked, 'being repaired']],
  },
  'a quota holds a grant, and the namespace no lock': {
    with: { quotas: [aQuota(), aQuota(named('other'), holding(aGrant()))] },
    want: [['Waiting', REASON.grantWithoutLock]],
  },
  'a quota holds a grant that cannot be read': {
    with: { quotas: [aQuota(holdingUnreadably())] },
    want: [['Waiting', REASON.grantWithoutLock]],
  },

  'the namespace is the cluster’s (F19)': {
    with: { namespace: aNamespace(named('kube-system')) },
    want: [['Unsupported', REASON.reservedNamespace, 'kube-system']],
  },
  'the namespace is ours (F19)': {
    with: { namespace: aNamespace(named('mtq-system')) },
    want: [['Unsupported', REASON.reservedNamespace]],
  },
  'the namespace is KubeVirt’s, wherever it is installed': {
    with: { namespace: aNamespace(named('virt')) },
    rules: { kubevirtNamespace: 'virt' },
    want: [['Unsupported', REASON.reservedNamespace]],
  },
  'the namespace is being deleted': {
    with: { namespace: aNamespace(beingDeleted()) },
    want: [['Unsupported', REASON.namespaceTerminating]],
  },
  'the namespace opts out': {
    with: { namespace: aNamespace(skipping) },
    want: [['Unsupported', REASON.skipped]],
  },
  'the namespace does not opt out with any other text': {
    with: { namespace: aNamespace(annotated(ANNOTATION.skip, 'false')) },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'the blocking quota opts out': {
    with: { quotas: [aQuota(skipping)] },
    want: [['Unsupported', REASON.skipped, 'ResourceQuota quota']],
  },
  'another quota with enough headroom opts out': {
    with: { quotas: [aQuota(), aQuota(named('other'), WITH_HEADROOM, skipping)] },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },

  'the last attempt failed a moment ago, and something changed since': {
    with: { namespace: aNamespace(afterAttempt(anAttempt())) },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'failed attempts have locked it for long enough': {
    with: { namespace: aNamespace(afterAttempt(anAttempt({ locked: lockedFor(40_000) }))) },
    want: [['Waiting', REASON.lockBudgetSpent, `until ${seconds(590)}`]],
  },
  'a back-off does not matter where there is headroom': {
    with: {
      namespace: aNamespace(afterAttempt(anAttempt({ locked: lockedFor(40_000) }))),
      quotas: [aQuota(WITH_HEADROOM)],
    },
    want: [['Fits', REASON.fits]],
  },

  'two migrations, a VMMRQ for both': {
    with: { ...TWO, vmmrqs: [aVmmrq(giving({ 'requests.cpu': '2', 'requests.memory': '4Gi' }))] },
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['FitsWithRaise', REASON.fitsWithRaise],
    ],
  },
  'two migrations, a VMMRQ for one: the older goes first': {
    with: TWO,
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['Waiting', REASON.afterOthers, 'go first'],
    ],
  },
  'two migrations, of which the VMMRQ is never enough for the second': {
    with: {
      ...TWO,
      pods: [
        aLauncher(),
        aLauncher('vm1', podSpec({ containers: [aContainer({ cpu: '9', memory: '1Gi' })] })),
      ],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '2', 'requests.memory': '4Gi' }))],
    },
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['NoFit', REASON.notEnough, 'requests.cpu='],
    ],
  },
  'more quotas refuse it than one lock may name': {
    with: { quotas: manyQuotas(MAX_LOCKED + 1) },
    want: [['Unsupported', REASON.tooManyQuotas, '101 ResourceQuotas refuse its pod']],
  },
  'as many quotas refuse it as one lock may name': {
    with: { quotas: manyQuotas(MAX_LOCKED) },
    want: [['FitsWithRaise', REASON.fitsWithRaise]],
  },
  'two migrations, a VMMRQ for none': {
    with: { ...TWO, vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))] },
    want: [
      ['NoFit', REASON.notEnough],
      ['NoFit', REASON.notEnough],
    ],
  },
  'two migrations, headroom for one': {
    with: {
      ...TWO,
      quotas: [aQuota(hard({ 'requests.cpu': '3500m' }), used({ 'requests.cpu': '2010m' }))],
    },
    want: [
      ['Fits', REASON.fits],
      ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=520m'],
    ],
  },
  'two migrations, and KubeVirt takes one more': {
    with: {
      ...TWO,
      view: aView({ left: { cluster: 1, node: 2, nodes: {} } }),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' }))],
    },
    want: [
      ['FitsWithRaise', REASON.fitsWithRaise],
      ['Waiting', REASON.parallelLimit, 'it runs at most 5 migrations at once'],
    ],
  },
  'too little now, but another of the namespace is under way: its headroom returns': {
    with: {
      ...TWO,
      migrations: [aMigration(named('mig1'), ofVm('vm1'))],
      pods: [aLauncher(), aLauncher('vm1'), aTarget()],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))],
    },
    want: [['Waiting', REASON.afterOthers]],
  },
};

const assessed = ({ with: different, rules }: Case): Assessment =>
  assess(aSnapshot(different), { ...RULES, ...rules });

describe('assess', () => {
  test.each(Object.entries(CASES))('%s', (_, each) => {
    const { verdicts } = assessed(each);
    expect(verdicts.map(({ verdict, reason }) => [verdict, reason])).toEqual(
      each.want.map(([verdict, reason]) => [verdict, reason]),
    );
    each.want.forEach(([, , words = ''], index) => expect(verdicts[index]?.message).toContain(words));
  });

  test.each(Object.entries(CASES))('%s: the lock is only for what fits with a raise', (_, each) => {
    const { verdicts, migrations, quotas } = assessed(each);
    const raising = verdicts.filter(({ verdict }) => verdict === 'FitsWithRaise');
    const vmiOf = (uid: string): string => (uid === 'uid-of-mig1' ? 'uid-of-vm1' : 'uid-of-vm0');
    expect(migrations).toEqual(raising.map(({ migration }) => ({ ...migration, vmi: vmiOf(migration.uid) })));
    const wanted = new Set(raising.flatMap(({ blocking }) => blocking.map(({ quota }) => quota.uid)));
    expect(new Set(quotas.map(({ uid }) => uid))).toEqual(wanted);
    expect(quotas).toHaveLength(wanted.size);
  });

  test('while others are under way the excess that stays is unknown', () => {
    const { verdicts } = assessed({
      with: {
        migrations: [aMigration(named('mig1'), ofVm('vm1'))],
        pods: [aLauncher(), aLauncher('vm1'), aTarget()],
        vmis: new Map([['vm1', aVmi()]]),
        events: [aFailure(exceeded('quota', 'requests.cpu=1505m'))],
      },
      want: [],
    });
    expect(verdicts[0]).toMatchObject({
      verdict: 'FitsWithRaise',
      message: expect.not.stringContaining('stays'),
    });
  });

  test('the message names no growth where none stays', () => {
    for (const each of ['fits with a raise', 'the VM has grown within the quota: no excess stays']) {
      expect(assessed(CASES[each] ?? { want: [] }).verdicts[0]?.message).not.toContain('more than before');
    }
  });

  test('every verdict, and every reason that a verdict may have, is in the table', () => {
    const wanted = Object.values(CASES).flatMap(({ want }) => want);
    expect(new Set(wanted.map(([verdict]) => verdict))).toEqual(new Set(VERDICTS));
    const backOffIsBelow = [REASON.backOff];
    expect(new Set([...wanted.map(([, reason]) => reason), ...backOffIsBelow])).toEqual(
      new Set([
        ...[REASON.fits, REASON.fitsWithRaise, REASON.noVmmrq, REASON.notEnough, REASON.vmiGone],
        ...[
          REASON.admitted,
          REASON.noSourcePod,
          REASON.sizeUnknown,
          REASON.notRecounted,
          REASON.receiveNotAllowed,
          REASON.statusUnknown,
          REASON.parallelLimit,
          REASON.viewUnavailable,
          REASON.incumbentPresent,
        ],
        ...[REASON.alreadyLocked, REASON.grantWithoutLock, REASON.reservedNamespace, REASON.skipped],
        ...[REASON.mustSpecify, REASON.noCoveringQuota, REASON.limitRange, REASON.podSecurity],
        ...[REASON.podRefused, REASON.clusterQuota, REASON.volumeQuota, REASON.tooManyQuotas],
        ...[REASON.namespaceTerminating, REASON.lockBudgetSpent, REASON.afterOthers, REASON.backOff],
      ]),
    );
  });

  test('it waits as long as nothing has changed since the failed attempt', () => {
    const { fingerprint } = assess(aSnapshot(), RULES);
    const namespace = aNamespace(afterAttempt(anAttempt({ of: fingerprint })));
    const again = (different: Partial<NamespaceSnapshot> = {}): Verdict | undefined =>
      assess(aSnapshot({ namespace, ...different }), RULES).verdicts[0];
    expect(again()).toMatchObject({ verdict: 'Waiting', reason: REASON.backOff });
    expect(again()?.message).toContain(`until ${seconds(20)}`);
    expect(
      again({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' }))] }),
    ).toMatchObject({
      verdict: 'FitsWithRaise',
    });
    expect(again({ now: aSnapshot().now + 20_000 })).toMatchObject({ verdict: 'FitsWithRaise' });
  });

  test('of more migrations than one lock may name, the youngest wait', () => {
    const { verdicts, migrations } = assess(aSnapshot(manyVms(MAX_LOCKED + 2)), RULES);
    expect(migrations).toHaveLength(MAX_LOCKED);
    expect(verdicts.slice(0, MAX_LOCKED).every(({ verdict }) => verdict === 'FitsWithRaise')).toBe(true);
    expect(verdicts.slice(MAX_LOCKED).map(({ reason }) => reason)).toEqual([
      REASON.afterOthers,
      REASON.afterOthers,
    ]);
  });

  test('priority goes before age (F39)', () => {
    const migrations: Migration[] = [
      aMigration(createdAt(-60)),
      aMigration(named('mig1'), ofVm('vm1'), createdAt(-30), withPriority('system-critical')),
    ];
    const { verdicts, migrations: first } = assess(aSnapshot({ ...TWO, migrations }), RULES);
    expect(verdicts.map(({ migration }) => migration.name)).toEqual(['mig1', 'mig0']);
    expect(first.map(({ name }) => name)).toEqual(['mig1']);
  });

  test('no starvation: a migration that was passed over goes next, however many smaller ones come (F39)', () => {
    const size = (vm: string): string => (vm === 'large' ? '900m' : '200m');
    const started = (vm: string): Pod =>
      aLauncher(vm, podSpec({ containers: [aContainer({ cpu: size(vm) })] }));
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1 }), { minLength: 6, maxLength: 6 }), (arrivals) => {
        let waiting = ['small0', 'large'];
        let underWay: string[] = [];
        let count = 0;
        // Each round: new small migrations come, those of the last round are under way, and the namespace is evaluated.
        for (const arriving of arrivals) {
          waiting = [
            ...waiting,
            ...Array.from({ length: arriving + 1 }, () => `small${String((count += 1))}`),
          ];
          const migrationOf = (vm: string): Migration =>
            aMigration(
              named(`mig-${vm}`),
              ofVm(vm),
              createdAt(vm === 'small0' ? -99 : vm === 'large' ? -98 : count),
            );
          const migrations = waiting.map(migrationOf);
          const ended = [...underWay].map((vm) => aTarget(migrationOf(vm)));
          const snapshot = aSnapshot({
            migrations,
            pods: [...waiting.map(started), ...underWay.map(started), ...ended],
            vmis: new Map(waiting.map((vm) => [vm, aVmi(vm, `node-of-${vm}`)])),
            quotas: [
              aQuota(
                hard({ 'requests.cpu': '10' }),
                used({ 'requests.cpu': `${String(10_000 + 200 * underWay.length)}m` }),
              ),
            ],
            vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1' }))],
            view: aView({ left: { cluster: 99, node: 9, nodes: {} } }),
          });
          const { migrations: first } = assess(snapshot, RULES);
          const through = first.map(({ name }) => name.slice('mig-'.length));
          if (through.includes('large')) return;
          waiting = waiting.filter((vm) => !through.includes(vm));
          underWay = through;
        }
        throw new Error('the large one never went');
      }),
    );
  });

  test('the shortfall of each quota has the quota’s own key and amount', () => {
    const quotas = [
      aQuota(),
      aQuota(
        named('other'),
        hard({ cpu: '1100m', 'requests.cpu': '3' }),
        used({ cpu: '1005m', 'requests.cpu': '1005m' }),
      ),
    ];
    const [verdict] = assess(aSnapshot({ quotas }), RULES).verdicts;
    const lacks = (verdict?.blocking ?? []).map(({ quota, shortfalls }) => [
      quota.name,
      shortfalls.map(({ key, missing }) => `${key}=${formatQuantity(missing)}`),
    ]);
    expect(lacks).toEqual([
      ['quota', ['requests.cpu=605m', 'requests.memory=783683264']],
      ['other', ['cpu=910m']],
    ]);
  });

  test('only its own lock looks at a quota that another token raised', () => {
    const quotas = [raisedBy(aVmmrq(), 'token-0')(aQuota())];
    expect(assess(aSnapshot({ quotas }), RULES)).toMatchObject({ migrations: [], quotas: [] });
  });
});
