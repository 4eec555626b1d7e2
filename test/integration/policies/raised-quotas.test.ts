import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, LABEL, POLICY, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { changeQuota, deletion, label, replaceQuota } from '../../support/admission-requests.ts';
import type { ApiRequest } from '../../support/api-request.ts';
import {
  changeOfQuota,
  FREE,
  held,
  LOCKED,
  newQuota,
  ONE,
  podOf,
  quotaWith,
  RAISED,
  raisedFor,
  RELEASED,
  startPolicyScene,
  STOLEN,
  UNLABELLED,
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

describe(POLICY.raisedQuotas, () => {
  const { raisedQuotas } = POLICY;

  test.each<[string, ApiRequest]>([
    ['a raised quota’s change', changeQuota(RAISED)],
    ['its replacement', replaceQuota(RAISED)],
    ['its deletion', deletion(RAISED, 'resourcequotas')],
    ['its label’s end', changeOfQuota(RAISED, { labels: { [LABEL.raised]: null } })],
    ['its label’s end by status', changeOfQuota(RAISED, { labels: { [LABEL.raised]: null } }, '/status')],
    [
      'its record’s end by status',
      changeOfQuota(RAISED, { annotations: { [ANNOTATION.grant]: null } }, '/status'),
    ],
    ['its change though the namespace is not locked', changeQuota(STOLEN)],
    ['its change by the record alone', changeQuota(UNLABELLED)],
  ])('%s is refused to everybody, who is told until when', async (_what, request) => {
    for (const user of ['editor', 'kubevirt']) {
      expect(await world.ask(user, request)).toMatchObject({
        by: raisedQuotas,
        code: 403,
        text: expect.stringMatching(
          /must wait: .* (until 2030-.* at the latest|is being put back); try again then$/,
        ),
      });
    }
  });

  const forged: [string, Record<string, object>][] = [
    ['a grant', { annotations: { [ANNOTATION.grant]: '{}' } }],
    ['migrations', { annotations: { [ANNOTATION.migrations]: 'x' } }],
    ['a last release', { annotations: { [ANNOTATION.lastRelease]: 'x' } }],
    ['the label', { labels: { [LABEL.raised]: 'true' } }],
  ];

  test.each(forged)('%s may be written by nobody else, nor by status', async (_what, metadata) => {
    const [key = ''] = Object.values(metadata).flatMap((entries: object) => Object.keys(entries));
    for (const subresource of ['', '/status']) {
      for (const namespace of [FREE, RELEASED]) {
        expect(await world.ask('editor', changeOfQuota(namespace, metadata, subresource))).toMatchObject({
          by: raisedQuotas,
          text: expect.stringMatching(new RegExp(`^${key} may only be written by managed-tenant-quota`)),
        });
      }
    }
  });

  test('a new quota brings none of them along, but the last release of the one it is a copy of', async () => {
    for (const [what, metadata] of forged) {
      const by = what === 'a last release' ? 'nobody' : raisedQuotas;
      expect([what, await world.ask('editor', newQuota(FREE, metadata))]).toMatchObject([what, { by }]);
    }
  });

  test.each<[string, ApiRequest]>([
    ['a quota that is not raised', changeQuota(FREE)],
    ['one that was', changeQuota(RELEASED)],
    ['its deletion', deletion(RELEASED, 'resourcequotas')],
    ['its replacement by one without our annotations', replaceQuota(RELEASED)],
    ['a new quota', newQuota(FREE, { annotations: { 'example.com/note': 'x' } })],
    ['a raised quota’s status', changeQuota(RAISED, '/status')],
    ['a released quota’s status', changeQuota(RELEASED, '/status')],
  ])('does not stand in the way of %s', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'nobody' });
  });

  test('our own may do what the steps do', async () => {
    for (const user of [
      SERVICE_ACCOUNT.lock,
      SERVICE_ACCOUNT.raise,
      SERVICE_ACCOUNT.lower,
      SERVICE_ACCOUNT.guard,
    ]) {
      expect([user, await world.ask(user, replaceQuota(RAISED))]).toEqual([user, { by: 'nobody' }]);
    }
    const status = changeOfQuota(RAISED, { labels: { [LABEL.raised]: null } }, '/status');
    expect(await world.ask(SERVICE_ACCOUNT.source, status)).toMatchObject({ code: 403 });
  });

  test('in a namespace that is being deleted everything goes', async () => {
    const name = 'tenant-terminating';
    await world.tenant(name, held, [quotaWith({ ...raisedFor(ONE), finalizers: ['example.com/stay'] })]);
    expect(await world.ask('editor', deletion(name, 'resourcequotas'))).toMatchObject({ by: raisedQuotas });
    await world.admin.delete(NAMESPACES, { name });
    await world.eventually('editor', deletion(name, 'resourcequotas'), 'nobody');
  });
});

test('break-glass: its holder may, for as long as he holds it', async () => {
  const requests = [changeQuota(RAISED), deletion(RAISED, 'resourcequotas'), label(LOCKED, null)];
  for (const request of requests) expect((await world.ask('repairer', request)).by).not.toBe('nobody');
  await world.breakGlass('repairer');
  for (const request of requests) await world.eventually('repairer', request, 'nobody');
  // Not the pods: that is what it is all about.
  expect((await world.ask('repairer', podOf(RAISED))).by).toBe(POLICY.raisedPods);
});
