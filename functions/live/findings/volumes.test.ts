import { expect, test } from '@jest/globals';
import { aPlanView, aSource, aTarget, aVmView } from '../../../test/support/builders/live-plan.ts';
import { aPlan, aVm } from '../../../test/support/builders/live.ts';
import { labelled, metadata } from '../../../test/support/builders/object.ts';
import { rawText } from '../../../test/support/raw-text.ts';
import { LIVE_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { isBlocking } from '../../domain/live/conditions.ts';
import type { ClaimUser, PlanView } from './plan-view.ts';
import { planFindings } from './plan.ts';

const itself: ClaimUser = { uid: aVm().metadata.uid, name: 'vms/web' };
const users = (...others: readonly ClaimUser[]): PlanView =>
  aPlanView({ sourceCluster: aSource({ users: new Map([['vms/web-root', [itself, ...others]]]) }) });
const user = (name: string): ClaimUser => ({ uid: name, name: `vms/${name}` });

const volume = (kind: string, of?: string): KubernetesObject => {
  const object = { kind, metadata: metadata('web-root') };
  return of === undefined ? object : labelled(LIVE_LABEL.vm, of)(object);
};
const inTarget = (there: KubernetesObject, name = 'web-root'): PlanView =>
  aPlanView({ targetCluster: aTarget({ volumes: new Map([[name, there]]) }) });

/** A second VM of the plan, with a volume of the same name. */
const beside = (namespace: string): PlanView => {
  const db = aVm((vm) => ({ ...vm, metadata: { ...metadata('db'), namespace, uid: 'db' } }));
  const vms = [aVmView(), aVmView({ found: [db] })];
  const plan = aPlan((one) => ({
    ...one,
    spec: { ...one.spec, vms: [...one.spec.vms, { name: 'db', namespace }] },
  }));
  const both = [itself, { uid: 'db', name: `${namespace}/db` }];
  const sharing = new Map([['vms/web-root', namespace === 'vms' ? both : [itself]]]);
  return aPlanView({ plan, sourceCluster: aSource({ vms, users: sharing }) });
};

const found = (view: PlanView): string[] =>
  planFindings(view)
    .filter(isBlocking)
    .flatMap(({ type, items = [] }) => items.map((item) => `${type} ${rawText(item)}`));

test.each<[string, PlanView, string[]]>([
  ['no VM but itself uses', users(), []],
  ['another VM uses', users(user('db')), ['SharedDisks vms/web: volume root (web-root) is used by vms/db']],
  [
    'a VM uses that its requester may not list',
    users({ uid: 'db' }, { uid: 'shop' }),
    ['SharedDisks vms/web: volume root (web-root) is used by another VM'],
  ],
  [
    'many VMs use',
    users(...['a', 'b', 'c', 'd', 'e'].map(user)),
    ['SharedDisks vms/web: volume root (web-root) is used by vms/a, vms/b, vms/c, 2 more'],
  ],
  [
    'has another one of its name on the target',
    inTarget(volume(LIVE_KIND.claim.kind)),
    [
      'VolumeAlreadyExists vms/web: a PersistentVolumeClaim web-root, which no run made, is on the target: delete it there if nothing uses it',
    ],
  ],
  [
    'an earlier run has left on the target, perhaps with the newest data',
    inTarget(volume(LIVE_KIND.dataVolume.kind, itself.uid)),
    [
      'VolumeAlreadyExists vms/web: the DataVolume web-root on the target is of an earlier run of this VM: delete it there if no VM has it, not even one that is off',
    ],
  ],
  [
    'a VM that was moved has on the target',
    inTarget(volume(LIVE_KIND.dataVolume.kind, 'other')),
    [
      expect.stringMatching(
        /^VolumeAlreadyExists .* is a disk of another VM that was moved: do not delete it/,
      ) as never,
    ],
  ],
  ['has no other one of its name there', inTarget(volume(LIVE_KIND.claim.kind), 'other'), []],
  [
    'has the name of one of another namespace, which the plan moves to the same one',
    beside('other'),
    [
      'VolumeAlreadyExists vms/web: a volume of other/db is named web-root too: move one of them by a plan of its own',
      'VolumeAlreadyExists other/db: a volume of vms/web is named web-root too: move one of them by a plan of its own',
    ],
  ],
  [
    'is the very same for two VMs of the plan',
    beside('vms'),
    [
      'SharedDisks vms/web: volume root (web-root) is used by vms/db',
      'SharedDisks vms/db: volume root (web-root) is used by vms/web',
    ],
  ],
])('a volume that %s', (_what, view, wanted) => {
  expect(found(view)).toEqual(wanted);
});
