import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { POLICY, SERVICE_ACCOUNT, POD_IDENTITY_LABELS } from '../../../functions/domain/names.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import {
  changeClaim,
  changePod,
  createClaim,
  deletion,
  giveDeadline,
  OF_ITS_POD,
  ownPod,
  relabelPod,
  replaceQuota,
} from '../../support/policies/admission-requests.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import {
  ATTACHING,
  changeOfQuota,
  FOR_NO_POD,
  FREE,
  held,
  LOCKED,
  LONGER,
  ONE,
  OTHER,
  OF_KUBEVIRT,
  ofAttachment,
  ofTarget,
  podOf,
  quotaWith,
  RAISED,
  raisedFor,
  FENCED,
  startPolicyTenants,
  STOLEN,
  type TARGETS,
  TWICE,
  vmiOf,
} from '../../support/policies/policy-scene.ts';
import type { PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policies alone on the real API server: none of our processes runs, no webhook is installed. Every request is a dry run. */

let world: PolicyWorld;
/** Raised after the policies are in force. */
const LATER = 'tenant-raised-later';

beforeAll(async () => {
  world = await startPolicyTenants([[LATER, held, [quotaWith({})]]]);
  await world.mayEverything(SERVICE_ACCOUNT.raise);
});

afterAll(async () => {
  await world.stop();
});

interface Creation {
  readonly user: string;
  /** The migration of the target pod, or the labels that name it. */
  readonly migration?: string | Record<string, string>;
}

const OWNED = {
  ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: 'any', controller: true }],
};

describe(POLICY.raisedPods, () => {
  const { raisedPods } = POLICY;

  test.each<[string, string, Creation]>([
    ['the pod of a migration that the quota is raised for', RAISED, { user: 'kubevirt', migration: ONE }],
    ['that of another of them', RAISED, { user: 'kubevirt', migration: OTHER }],
    [
      'the attachment pod of one that waits for it',
      RAISED,
      { user: 'kubevirt', migration: ofAttachment(ATTACHING) },
    ],
    ['in two raised quotas, one that is in both', TWICE, { user: 'kubevirt', migration: OTHER }],
    ['anything where no quota is raised', FREE, { user: 'editor' }],
    ['anything where one was', FENCED, { user: 'editor' }],
    ['anything in a namespace that is locked, and not raised', LOCKED, { user: 'editor' }],
  ])('admits %s', async (_what, namespace, { user, migration }) => {
    expect(await world.ask(user, podOf(namespace, migration))).toEqual({ by: 'none' });
  });

  test.each<[string, string, Creation]>([
    ['a tenant’s pod', RAISED, { user: 'editor' }],
    ['an administrator’s', RAISED, { user: 'cluster-admin' }],
    ['a tenant’s pod with the migration’s uid', RAISED, { user: 'editor', migration: ONE }],
    ['KubeVirt’s pod without the label', RAISED, { user: 'kubevirt' }],
    ['KubeVirt’s pod with an empty label', RAISED, { user: 'kubevirt', migration: '' }],
    ['KubeVirt’s pod without the label, with a grant for no pod', FOR_NO_POD, { user: 'kubevirt' }],
    [
      'KubeVirt’s pod with an empty label, with a grant for no pod',
      FOR_NO_POD,
      { user: 'kubevirt', migration: '' },
    ],
    // A launcher gets all labels of its VMI, and a tenant chooses those in its replica set of VMIs.
    [
      'the launcher of another VM with the migration’s uid',
      RAISED,
      { user: 'kubevirt', migration: ofTarget(ONE, 'vmi-of-tenant') },
    ],
    [
      'that of the VM of another migration',
      RAISED,
      { user: 'kubevirt', migration: ofTarget(ONE, vmiOf(OTHER)) },
    ],
    ['that of no VM', RAISED, { user: 'kubevirt', migration: ofTarget(ONE, '') }],
    ['a launcher where the attachment pod is waited for', RAISED, { user: 'kubevirt', migration: ATTACHING }],
    ['an attachment pod where the launcher is', RAISED, { user: 'kubevirt', migration: ofAttachment(ONE) }],
    ['the pod of another migration', RAISED, { user: 'kubevirt', migration: 'uid-3' }],
    [
      'the pod of a migration whose uid begins with one of them',
      RAISED,
      { user: 'kubevirt', migration: LONGER },
    ],
    [
      'the pod of a migration whose uid is the beginning of one',
      RAISED,
      { user: 'kubevirt', migration: 'uid' },
    ],
    ['in two raised quotas, one that is in the first only', TWICE, { user: 'kubevirt', migration: ONE }],
    ['in two raised quotas, one that is in the second only', TWICE, { user: 'kubevirt', migration: LONGER }],
    ['anything else though the namespace is not locked', STOLEN, { user: 'kubevirt', migration: OTHER }],
  ])('refuses %s', async (_what, namespace, { user, migration }) => {
    expect(await world.ask(user, podOf(namespace, migration))).toMatchObject({ by: raisedPods, code: 403 });
  });

  interface Growth {
    readonly user: string;
    readonly pod?: keyof typeof TARGETS;
    readonly namespace?: string;
  }

  test.each<[string, Growth, string]>([
    ['a tenant’s pod', { user: 'editor' }, raisedPods],
    ['a tenant’s pod where no quota is raised', { user: 'editor', namespace: FREE }, 'none'],
    ['a target pod of the migration, by KubeVirt', { user: 'kubevirt', pod: 'target-of-one' }, 'none'],
    ['a target pod of the migration, by a tenant', { user: 'editor', pod: 'target-of-one' }, raisedPods],
    ['that of another migration, by KubeVirt', { user: 'kubevirt', pod: 'target-of-longer' }, raisedPods],
    ['a pod of no migration, by KubeVirt', { user: 'kubevirt' }, raisedPods],
  ])('also checks an in-place resize: %s', async (_what, { user, pod, namespace = RAISED }, by) => {
    expect(await world.ask(user, changePod(namespace, '/resize', pod))).toMatchObject({ by });
  });

  test.each<[string, (namespace: string) => ApiRequest]>([
    ['a pod that gets a deadline', giveDeadline],
    ['a device that is claimed', createClaim],
    ['a claim that is its pod’s no more', (namespace): ApiRequest => changeClaim(namespace, OF_ITS_POD)],
    ['a claim that becomes another’s', (namespace): ApiRequest => changeClaim(namespace, OWNED)],
  ])('checks %s, because a quota counts that too', async (_what, request) => {
    expect(await world.ask('editor', request(RAISED))).toMatchObject({ by: raisedPods, code: 403 });
    expect(await world.ask('kubevirt', request(RAISED))).toMatchObject({ by: raisedPods, code: 403 });
    expect(await world.ask('editor', request(FREE))).toEqual({ by: 'none' });
  });

  /** Such a pod would make a migration look admitted, and its failed lock look successful. */
  test.each<[string, (namespace: string) => ApiRequest]>([
    ...POD_IDENTITY_LABELS.map((key): [string, (namespace: string) => ApiRequest] => [
      `a pod’s other ${key}`,
      (namespace): ApiRequest => relabelPod(namespace, key),
    ]),
    ...Object.keys(OF_KUBEVIRT).map((pod): [string, (namespace: string) => ApiRequest] => [
      `${pod} of another owner`,
      (namespace): ApiRequest => ownPod(namespace, pod),
    ]),
  ])('checks %s, because an existing pod cannot become a target', async (_what, request) => {
    expect(await world.ask('editor', request(RAISED))).toMatchObject({ by: raisedPods, code: 403 });
    expect(await world.ask('kubevirt', request(RAISED))).toMatchObject({ by: raisedPods, code: 403 });
    expect(await world.ask('editor', request(FREE))).toEqual({ by: 'none' });
  });

  test('lets KubeVirt’s controller create only pods too', async () => {
    const claim = createClaim(RAISED, ofTarget(ONE));
    expect(await world.ask('kubevirt', claim)).toMatchObject({ by: raisedPods, code: 403 });
  });

  test.each<[string, ApiRequest]>([
    ['a changed pod', changePod(RAISED, '')],
    ['a pod that another one owns', ownPod(RAISED, 'pod')],
    ['a deleted pod', deletion(RAISED, 'pods')],
    ['a changed claim', changeClaim(RAISED, { labels: { changed: 'true' } })],
  ])('does not check %s, which is not charged', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });

  test('gives the reason, and what to do', async () => {
    expect(await world.ask('editor', podOf(RAISED))).toMatchObject({
      text:
        `CREATE of pods in namespace ${RAISED} must wait: ResourceQuota quota is raised for a live migration ` +
        'for a few seconds, at most a minute; until then this is forbidden: exceeded quota; try again then',
    });
    expect(await world.ask('editor', changePod(RAISED, '/resize'))).toMatchObject({
      text: expect.stringContaining('UPDATE of pods in namespace'),
    });
  });
});

test('a deleted policy checks nothing, and a recreated one checks again, also with new quotas', async () => {
  await world.removePolicy(POLICY.raisedPods);
  expect(await world.ask('editor', podOf(RAISED))).toEqual({ by: 'none' });
  expect((await world.ask('editor', replaceQuota(RAISED))).by).toBe(POLICY.raisedQuotas);
  await world.installPolicies(await render('config/policies'), POLICY.raisedPods);
  expect((await world.ask('editor', podOf(RAISED))).by).toBe(POLICY.raisedPods);
  // The API server stops some parameters' informers with the last binding that needs them (kubernetes/kubernetes#130887).
  // The quotas' informer belongs to quota admission and keeps running.
  const { path, ...raise } = changeOfQuota(LATER, raisedFor(ONE), '/status');
  const request = { ...raise, path: path.replace('?dryRun=All', '') };
  expect(await world.ask(SERVICE_ACCOUNT.raise, request)).toEqual({ by: 'none' });
  await world.eventually('editor', podOf(LATER, undefined), POLICY.raisedPods);
});
