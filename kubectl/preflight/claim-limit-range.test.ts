import { expect, test } from '@jest/globals';
import { aLauncher } from '../../test/support/builders/kubevirt.ts';
import { metadata } from '../../test/support/builders/object.ts';
import { aClaim, keepingState } from '../../test/support/builders/pod-rejection.ts';
import { aTenant, clusterFacts, protectedBy } from '../../test/support/builders/preflight.ts';
import { REASON } from '../../functions/domain/names.ts';
import type { LimitRangeItem } from '../../functions/domain/objects.ts';
import type { VmOutcome } from './outcome.ts';
import { preflight } from './preflight.ts';

const outcomeOf = (...limits: LimitRangeItem[]): VmOutcome | undefined => {
  const tenant = aTenant({
    vmis: [protectedBy('LiveMigrate')(keepingState())],
    pods: [aLauncher()],
    claims: [aClaim()],
    limitRanges: [{ metadata: metadata('range'), spec: { limits } }],
  });
  return preflight({ kind: 'node', nodes: ['node1'] }, clusterFacts([tenant])).vms[0];
};

const CLAIM = { type: 'PersistentVolumeClaim', min: { storage: '1Gi' } };

test('a VM whose state needs another volume claim that a LimitRange refuses is stuck', () => {
  expect(outcomeOf(CLAIM)).toMatchObject({ outcome: 'Stuck', reason: REASON.limitRange });
});

test('the claim is named before the pod, which comes after it', () => {
  expect(outcomeOf({ type: 'Container', max: { cpu: '1' } }, CLAIM)?.message).toMatch(
    /^the target first needs/,
  );
});

test('a claim that is large enough lets the VM pass', () => {
  expect(outcomeOf({ ...CLAIM, min: { storage: '10Mi' } })).toMatchObject({ outcome: 'Passes' });
});
