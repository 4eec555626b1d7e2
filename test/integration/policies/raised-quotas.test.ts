import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, LABEL, POLICY } from '../../../functions/domain/names.ts';
import {
  changeQuota,
  deletion,
  deletionOfAll,
  replaceQuota,
} from '../../support/policies/admission-requests.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { isSame } from '../../../functions/domain/same.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import {
  changeOfQuota,
  FREE,
  held,
  newQuota,
  ONE,
  quotaWith,
  RAISED,
  raisedFor,
  FENCED,
  startPolicyTenants,
  STOLEN,
  UNLABELLED,
} from '../../support/policies/policy-scene.ts';
import { askUntil } from '../../support/eventually.ts';
import type { PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policies alone on the real API server: none of our processes runs, no webhook is installed. Every request is a dry run. */

let world: PolicyWorld;

/** Its quota is named in the lock, but not raised. */
const LOCKED_FENCED = 'tenant-locked-released';
/** Its lock was removed by a break-glass, and nobody has set the status of its quota back yet. */
const UNLOCKED = 'tenant-unlocked';

beforeAll(async () => {
  const fenced = { annotations: { [ANNOTATION.lastRelease]: 'x' } };
  world = await startPolicyTenants([
    [LOCKED_FENCED, held, [quotaWith(fenced)]],
    [UNLOCKED, {}, [quotaWith(raisedFor(ONE))]],
  ]);
  const { admin } = world;
  const inUnlocked = { namespace: UNLOCKED };
  const [counted] = await askUntil(
    'the quota is counted',
    async () => (await admin.list<ResourceQuota>(RESOURCE_QUOTAS, inUnlocked)).items,
    ([quota]) => isSame(quota?.status?.hard, quota?.spec.hard),
  );
  // The quota controller would set it back.
  await world.pauseControllers();
  const status = { ...counted?.status, hard: { ...counted?.spec.hard, pods: '99' } };
  await admin.replace(RESOURCE_QUOTAS, { ...counted, status } as ResourceQuota, { subresource: 'status' });
});

afterAll(async () => {
  await world.stop();
});

describe(POLICY.raisedQuotas, () => {
  const { raisedQuotas } = POLICY;

  const withoutLabel = { labels: { [LABEL.raised]: null } };
  const withoutGrant = { annotations: { [ANNOTATION.grant]: null } };

  test.each<[string, ApiRequest]>([
    ['its replacement by one without our keys', replaceQuota(RAISED)],
    ['its label’s end', changeOfQuota(RAISED, withoutLabel)],
    ['its label’s end by status', changeOfQuota(RAISED, withoutLabel, '/status')],
    ['its record’s end by status', changeOfQuota(RAISED, withoutGrant, '/status')],
    ['its migrations’ end', changeOfQuota(RAISED, { annotations: { [ANNOTATION.migrations]: null } })],
    ['its replacement where it has the record alone', replaceQuota(UNLABELLED)],
    ['of one that is not raised, in a locked namespace', replaceQuota(LOCKED_FENCED)],
  ])('of a raised quota: %s is refused to every user, with the time to wait', async (_what, request) => {
    for (const user of ['editor', 'kubevirt', 'cluster-admin']) {
      expect(await world.ask(user, request)).toMatchObject({
        by: raisedQuotas,
        code: 403,
        text: expect.stringMatching(
          /must wait: it would remove mtq\.kubevirt\.io\/.* for a few seconds, at most a minute; try again then$/,
        ),
      });
    }
  });

  test('what is left of a raise that is over may be removed with the override right: no lock, and status.hard as spec.hard', async () => {
    for (const user of ['editor', 'kubevirt', 'repairer'])
      expect([user, await world.ask(user, replaceQuota(STOLEN))]).toMatchObject([user, { by: raisedQuotas }]);
    await world.breakGlass('repairer');
    await world.eventually('repairer', replaceQuota(STOLEN), 'none');
    for (const request of [replaceQuota(RAISED), replaceQuota(LOCKED_FENCED), replaceQuota(UNLOCKED)])
      expect(await world.ask('repairer', request)).toMatchObject({ by: raisedQuotas, code: 403 });
  });

  test.each([
    [RAISED, 'the quota is raised'],
    [LOCKED_FENCED, 'the namespace is locked'],
  ])('the refusal in %s says that %s', async (namespace, state) => {
    expect(await world.ask('editor', replaceQuota(namespace))).toMatchObject({
      text: expect.stringContaining(` while ${state} for a live migration `),
    });
  });

  test.each<[string, ApiRequest]>([
    ['an edit of its spec', changeQuota(RAISED)],
    ['though the namespace is not locked', changeQuota(STOLEN)],
    ['a note on it', changeOfQuota(RAISED, { annotations: { note: 'x' } })],
    ['its status', changeQuota(RAISED, '/status')],
    ['its deletion', deletion(RAISED, 'resourcequotas')],
    ['the deletion of all', deletionOfAll(RAISED, 'resourcequotas')],
  ])('of a raised quota: %s passes', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });

  const forged: [string, Record<string, object>][] = [
    ['a grant', { annotations: { [ANNOTATION.grant]: '{"v":1}' } }],
    ['migrations', { annotations: { [ANNOTATION.migrations]: 'x' } }],
    ['a last release', { annotations: { [ANNOTATION.lastRelease]: 'x' } }],
    ['the label', { labels: { [LABEL.raised]: 'yes' } }],
  ];

  test.each(forged)(
    '%s may not be written by other users, even by the status subresource',
    async (_what, metadata) => {
      const [key = ''] = Object.values(metadata).flatMap((entries: object) => Object.keys(entries));
      for (const subresource of ['', '/status']) {
        for (const namespace of [FREE, FENCED, RAISED]) {
          expect(await world.ask('editor', changeOfQuota(namespace, metadata, subresource))).toMatchObject({
            by: raisedQuotas,
            text: expect.stringMatching(new RegExp(`^${key} may only be written by managed-tenant-quota`)),
          });
        }
      }
    },
  );

  test('a new quota may have none of them, except the last-release of a copied quota (F44)', async () => {
    for (const [what, metadata] of forged) {
      const by = what === 'a last release' ? 'none' : raisedQuotas;
      expect([what, await world.ask('editor', newQuota(FREE, metadata))]).toMatchObject([what, { by }]);
    }
  });

  test.each<[string, ApiRequest]>([
    ['a quota that is not raised', changeQuota(FREE)],
    ['one that was', changeQuota(FENCED)],
    ['its deletion', deletion(FENCED, 'resourcequotas')],
    ['its replacement by one without our annotations', replaceQuota(FENCED)],
    ['a new quota', newQuota(FREE, { annotations: { 'example.com/note': 'x' } })],
    ['the status of a quota that was raised before', changeQuota(FENCED, '/status')],
  ])('does not restrict %s', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });
});
