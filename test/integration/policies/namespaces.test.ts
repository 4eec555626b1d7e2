import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  LABEL,
  OUR_USERS,
  POLICY,
  SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
  userOf,
  WHOSE_POD,
} from '../../../functions/domain/names.ts';
import { renderWall } from '../../cluster/walls.ts';
import {
  annotate,
  annotateByFinalize,
  annotateByStatus,
  changeClaim,
  changePod,
  changeQuota,
  createClaim,
  createNamespace,
  createQuota,
  deletion,
  giveDeadline,
  label,
  OF_ITS_POD,
  ownPod,
  relabelPod,
  replaceNamespace,
  replaceQuota,
} from '../../support/admission-requests.ts';
import type { ApiRequest } from '../../support/api-request.ts';
import {
  ATTACHING,
  BROKEN,
  FREE,
  held,
  LOCKED,
  LONGER,
  newQuota,
  ONE,
  OTHER,
  OF_KUBEVIRT,
  ofAttachment,
  ofTarget,
  podOf,
  startPolicyScene,
  TOKEN,
  UNTIL,
  vmiOf,
} from '../../support/policy-scene.ts';
import type { PolicyWorld } from '../../support/policy-world.ts';

/** On the real API server, alone: no process of ours runs here, no webhook is installed. Every request is a dry run. */

let world: PolicyWorld;

beforeAll(async () => {
  world = await startPolicyScene();
});

afterAll(async () => {
  await world.stop();
});

describe(POLICY.lockKeys, () => {
  const { lockKeys } = POLICY;
  const OURS = [ANNOTATION.lock, ANNOTATION.lastAttempt];

  test.each<[string, string, ApiRequest]>([
    ...OURS.flatMap((key): [string, string, ApiRequest][] => [
      [`${key} put on`, key, annotate(FREE, key)],
      [`${key} put on by way of /status`, key, annotateByStatus(FREE, key)],
      [`${key} put on by way of /finalize`, key, annotateByFinalize(FREE, key)],
      [`a namespace made with ${key}`, key, createNamespace({ annotations: { [key]: 'x' } })],
    ]),
    ['the lock changed', ANNOTATION.lock, annotate(LOCKED, ANNOTATION.lock)],
    ['the lock taken off', ANNOTATION.lock, annotate(LOCKED, ANNOTATION.lock, null)],
    ['the label put on', LABEL.locked, label(FREE, 'true')],
    ['the label changed', LABEL.locked, label(LOCKED, 'false')],
    ['the label taken off', LABEL.locked, label(LOCKED, null)],
    ['a namespace made with it', LABEL.locked, createNamespace({ labels: { [LABEL.locked]: 'true' } })],
  ])('%s is refused, and named', async (_what, key, request) => {
    expect(await world.ask('editor', request)).toMatchObject({
      by: lockKeys,
      code: 403,
      text: expect.stringMatching(new RegExp(`^${key} may only be changed by managed-tenant-quota: `)),
    });
  });

  test.each<[string, ApiRequest]>([
    ['another annotation, on a namespace without any', annotate(FREE, 'example.com/note')],
    ['another annotation, on a locked namespace', annotate(LOCKED, 'example.com/note')],
    ['the opt-out', annotate(LOCKED, ANNOTATION.skip, 'true')],
    ['the status of a locked namespace', annotateByStatus(LOCKED, 'example.com/note')],
    ['a namespace without metadata of its own', createNamespace({})],
  ])('%s passes', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'nobody' });
  });

  test('our own may', async () => {
    for (const user of [
      SERVICE_ACCOUNT.lock,
      SERVICE_ACCOUNT.raise,
      SERVICE_ACCOUNT.unlock,
      SERVICE_ACCOUNT.guard,
    ]) {
      expect([user, await world.ask(user, replaceNamespace(FREE))]).toEqual([user, { by: 'nobody' }]);
    }
  });
});

describe(`${POLICY.locked}, where there is no webhook`, () => {
  const { locked } = POLICY;

  beforeAll(async () => {
    await world.installPolicies(await renderWall('policies'), locked);
  });

  test.each<[string, ApiRequest]>([
    ['a pod', podOf(LOCKED)],
    ['a pod that says it is the migration’s', podOf(LOCKED, ONE)],
    ['a pod that grows', changePod(LOCKED, '/resize')],
    ['a pod that gets a deadline', giveDeadline(LOCKED)],
    ...WHOSE_POD.map((key): [string, ApiRequest] => [`a pod’s other ${key}`, relabelPod(LOCKED, key)]),
    ...Object.keys(OF_KUBEVIRT).map((pod): [string, ApiRequest] => [
      `${pod} of another owner`,
      ownPod(LOCKED, pod),
    ]),
    ['a device that is claimed', createClaim(LOCKED)],
    ['a claim that is its pod’s no more', changeClaim(LOCKED, OF_ITS_POD)],
    ['a new quota', createQuota(LOCKED)],
    ['a changed quota', changeQuota(LOCKED)],
    ['a deleted quota', deletion(LOCKED, 'resourcequotas')],
  ])('while a namespace is locked, %s is refused, with the words of the webhook', async (_what, request) => {
    for (const user of ['editor', 'cluster-admin']) {
      expect(await world.ask(user, request)).toMatchObject({
        by: locked,
        code: 403,
        text: expect.stringMatching(
          new RegExp(
            `^(CREATE|UPDATE|DELETE) of (pods|resourcequotas|resourceclaims) in namespace ${LOCKED} must wait: its quotas are raised ` +
              `for the live migration of mig0, mig1, mig2 for a few seconds, until ${UNTIL} at the latest; try again then$`,
          ),
        ),
      });
    }
  });

  test('KubeVirt’s controller gets in the pods of the lock’s migrations, and no others', async () => {
    expect(await world.ask('kubevirt', podOf(LOCKED, ONE))).toEqual({ by: 'nobody' });
    expect(await world.ask('kubevirt', podOf(LOCKED, OTHER))).toEqual({ by: 'nobody' });
    expect(await world.ask('kubevirt', podOf(LOCKED, ofAttachment(ATTACHING)))).toEqual({ by: 'nobody' });
    expect(await world.ask('kubevirt', createClaim(LOCKED, ofTarget(ONE)))).toMatchObject({ by: locked });
    for (const migration of [
      ...[undefined, '', 'uid-3', LONGER, 'uid', 'uid-of-quota', ATTACHING],
      // The labels of any VMI are on its launcher.
      ...['vmi-of-tenant', vmiOf(OTHER), vmiOf(LONGER), ''].map((vmi) => ofTarget(ONE, vmi)),
      ofAttachment(ONE),
      ofAttachment('uid-3'),
    ]) {
      expect([migration, await world.ask('kubevirt', podOf(LOCKED, migration))]).toMatchObject([
        migration,
        { by: locked },
      ]);
    }
  });

  test('our own change quotas, and make none: that refusal is the proof, with the token', async () => {
    for (const user of [
      SERVICE_ACCOUNT.lock,
      SERVICE_ACCOUNT.raise,
      SERVICE_ACCOUNT.lower,
      SERVICE_ACCOUNT.guard,
    ]) {
      expect([user, await world.ask(user, replaceQuota(LOCKED))]).toEqual([user, { by: 'nobody' }]);
    }
    expect(await world.prove(SERVICE_ACCOUNT.raise, LOCKED, TOKEN)).toEqual({ proven: true });
    expect(await world.prove(SERVICE_ACCOUNT.raise, LOCKED, `${TOKEN}0`)).toMatchObject({ proven: false });
    expect(await world.prove(SERVICE_ACCOUNT.raise, FREE, TOKEN)).toMatchObject({ proven: false });
  });

  test('nobody else is told the token', async () => {
    expect(JSON.stringify(await world.ask('editor', createQuota(LOCKED)))).not.toContain(TOKEN);
    expect(OUR_USERS).toContain(userOf(SERVICE_ACCOUNT.raise));
  });

  test('a lock that cannot be read lets nobody in, and proves nothing', async () => {
    expect(await world.ask('kubevirt', podOf(BROKEN, ONE))).toMatchObject({
      by: locked,
      text: expect.stringContaining('cannot be read and is being repaired; try again'),
    });
    expect(await world.prove(SERVICE_ACCOUNT.raise, BROKEN, '')).toMatchObject({ proven: false });
  });

  test.each(['kube-tenant', 'openshift-tenant', 'knative-tenant', 'kubevirt', 'default', SYSTEM_NAMESPACE])(
    '%s is never locked, whatever label somebody puts there',
    async (name) => {
      await world.tenant(name, held, []);
      expect(await world.ask('editor', podOf(name))).toEqual({ by: 'nobody' });
    },
  );

  test('a namespace that is not locked is nobody’s business', async () => {
    for (const request of [podOf(FREE), changeQuota(FREE), newQuota(FREE, {})]) {
      expect(await world.ask('editor', request)).toEqual({ by: 'nobody' });
    }
  });
});
