import { describe, expect, test } from '@jest/globals';
import { aLauncher, aMigration, aVmi, ofVm, receiving } from '../../../test/support/builders/kubevirt.ts';
import { createdAt, named, type Change } from '../../../test/support/builders/object.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import { aFailure, exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { assess } from './assessment.ts';
import { REASON, type Reason } from '../names.ts';
import type { AmountList, VirtualMachineInstance, Vmmrq } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import type { VerdictName } from './verdict.ts';

/** mig0 receives vm0, of which no pod runs here; the quota has 400m of CPU and 600Mi left. */
const RECEIVING: Partial<NamespaceSnapshot> = {
  migrations: [aMigration(receiving('abc'))],
  pods: [],
  events: [aFailure(exceeded('quota', 'requests.cpu=1005m'))],
};

const allowing: Change<Vmmrq> = (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, allowReceive: true } });
const ALLOWED = [aVmmrq(allowing)];

const asking = (requests: AmountList): ReadonlyMap<string, VirtualMachineInstance> =>
  new Map([['vm0', { ...aVmi(), spec: { domain: { resources: { requests } } } }]]);

/** Migrations of these VMs, the oldest first, and a quota with headroom for them all. */
const ofVms = (vms: readonly [vm: string, 'local' | 'receives'][]): NamespaceSnapshot =>
  aSnapshot({
    migrations: vms.map(([vm, kind], index) =>
      aMigration(
        named(vm),
        ofVm(vm),
        createdAt(index - 60),
        ...(kind === 'local' ? [] : [receiving(`id-of-${vm}`)]),
      ),
    ),
    pods: vms.flatMap(([vm, kind]) => (kind === 'local' ? [aLauncher(vm)] : [])),
    vmis: new Map(vms.map(([vm, kind]) => [vm, kind === 'local' ? aVmi(vm) : { ...aVmi(vm), status: {} }])),
    quotas: [aQuota(hard({ pods: '9' }), used({ pods: '2' }))],
    events: vms.map(([vm]) => ({
      ...aFailure(exceeded('quota', 'pods=1').replaceAll('vm0', vm)),
      involvedObject: { kind: 'VirtualMachineInstance', name: vm, uid: `uid-of-${vm}` },
    })),
  });

interface Case {
  readonly with: Partial<NamespaceSnapshot>;
  readonly want: readonly [VerdictName, Reason, string?];
}

const CASES: Record<string, Case> = {
  'its pod stays for good': {
    with: { vmmrqs: [aVmmrq()] },
    want: ['Unsupported', REASON.receiveNotAllowed, 'stays for good'],
  },
  'no VMMRQ gives anything': {
    with: { vmmrqs: [] },
    want: ['NoFit', REASON.noVmmrq],
  },
  'one of two VMMRQs allows it: only that one gives': {
    with: { vmmrqs: [aVmmrq(), aVmmrq(named('more'), allowing)] },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=605m'],
  },
  'and the one that allows it gives too little': {
    with: { vmmrqs: [aVmmrq(), aVmmrq(named('more'), giving({ 'requests.cpu': '600m' }), allowing)] },
    want: ['NoFit', REASON.notEnough, 'requests.cpu=600m, which is 5m too little'],
  },
  'the VMMRQ allows it: sized by the API server’s refusal': {
    with: { vmmrqs: ALLOWED },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=605m'],
  },
  'sized by the VMI’s requests, for keys that the API server did not name': {
    with: { vmmrqs: ALLOWED, vmis: asking({ cpu: '7', memory: '1Gi' }) },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=605m, requests.memory=424Mi'],
  },
  'and that exceeds the allowance': {
    with: { vmmrqs: ALLOWED, vmis: asking({ memory: '3Gi' }) },
    want: ['NoFit', REASON.notEnough, 'which is 972Mi too little'],
  },
  'the VMI’s requests are no quantities': {
    with: { vmmrqs: ALLOWED, vmis: asking({ memory: 'much', cpu: '-1' }) },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=605m'],
  },
  'a quota of its priority class counts it': {
    with: {
      vmmrqs: ALLOWED,
      vmis: new Map([['vm0', { ...aVmi(), spec: { priorityClassName: 'high' } }]]),
      quotas: [
        aQuota(
          scoped({
            scopeSelector: {
              matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }],
            },
          }),
        ),
      ],
    },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.cpu=605m'],
  },
  'the size of its pod is still unknown': {
    with: { vmmrqs: ALLOWED, events: [] },
    want: ['Waiting', REASON.noSourcePod, 'no Event shows'],
  },
  'the quota has the headroom by now: no raise, nothing to allow': {
    with: { quotas: [aQuota(hard({ pods: '10', 'requests.cpu': '9', 'requests.memory': '9Gi' }))] },
    want: ['Fits', REASON.fits],
  },
  'a quota of the same namespace requires limits: only the API server knows whether the pod has them': {
    with: { vmmrqs: ALLOWED, quotas: [aQuota(), aQuota(named('limits'), hard({ 'limits.cpu': '4' }))] },
    want: ['FitsWithRaise', REASON.fitsWithRaise],
  },
  'its last refusal is outdated: only the API server knows the pod’s other values': {
    with: {
      vmmrqs: ALLOWED,
      events: [
        aFailure(forbidden('maximum memory usage per Container is 1Gi, but limit is 2Gi'), -1),
        aFailure(exceeded('quota', 'requests.memory=1500Mi'), -5),
      ],
    },
    want: ['FitsWithRaise', REASON.fitsWithRaise, 'requests.memory=900Mi'],
  },
  'a launcher is never of the class BestEffort': {
    with: {
      vmmrqs: ALLOWED,
      events: [aFailure(exceeded('pods', 'pods=1'))],
      quotas: [
        aQuota(named('pods'), scoped({ scopes: ['NotBestEffort'] }), hard({ pods: '0' })),
        aQuota(named('others'), scoped({ scopes: ['BestEffort'] }), hard({ pods: '0' })),
      ],
    },
    want: ['NoFit', REASON.notEnough, 'pods lacks pods=2; VMMRQ vmmrq gives pods=0, which is 2 too little'],
  },
  'refused for something else': {
    with: {
      vmmrqs: ALLOWED,
      events: [aFailure(forbidden('violates PodSecurity "restricted:latest": root'))],
    },
    want: ['Unsupported', REASON.podSecurity],
  },
};

describe('a migration that receives a VM from another cluster', () => {
  test.each(Object.entries(CASES))('%s', (_, { with: different, want: [verdict, reason, words = ''] }) => {
    const { verdicts } = assess(aSnapshot({ ...RECEIVING, ...different }), RULES);
    expect(verdicts).toMatchObject([{ verdict, reason, message: expect.stringContaining(words) }]);
  });

  /** KubeVirt counts migrations by the node of their VMI, and a receiver has none (facts/kubevirt.md §1.5). */
  test.each<[string, Record<string, 'local' | 'receives'>, string]>([
    [
      'it takes none of a node',
      { vm0: 'receives', vm1: 'local', vm2: 'local' },
      'vm0 Fits, vm1 Fits, vm2 Fits',
    ],
    [
      'two that leave a node take none of it',
      { vm1: 'local', vm2: 'local', vm0: 'receives' },
      'vm1 Fits, vm2 Fits, vm0 Fits',
    ],
    [
      'two others that receive take both of it',
      { vm0: 'receives', vm1: 'receives', vm2: 'receives' },
      'vm0 Fits, vm1 Fits, vm2 ParallelLimitReached',
    ],
  ])('slots of a node: %s', (_, vms, want) => {
    const { verdicts } = assess(ofVms(Object.entries(vms)), RULES);
    expect(verdicts.map(({ migration, reason }) => `${migration.name} ${reason}`).join(', ')).toBe(want);
  });

  test('only a key with a known shortfall is raised', () => {
    const { quotas } = assess(aSnapshot({ ...RECEIVING, vmmrqs: ALLOWED }), RULES);
    expect(quotas.map(({ need }) => need)).toEqual([
      { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1' },
    ]);
  });
});
