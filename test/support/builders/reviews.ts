import fc from 'fast-check';
import { LOCK_VERSION, type Lock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, KUBEVIRT, LABEL, OUR_USERS, userOf } from '../../../functions/domain/names.ts';

/** Any well-formed AdmissionReview that the API server may send, with unusual names and users too. */

export const TENANT = 'tenant';
export const CONTROLLER = userOf('kubevirt-controller', 'kubevirt');
export const OF_LOCK = 'uid-of-the-lock';
export const OF_VMI = 'uid-of-the-vmi';

export const LOCK: Lock = {
  v: LOCK_VERSION,
  token: 'token-1',
  acquiredAt: '2026-11-21T12:00:00.000Z',
  expiresAt: '2026-11-21T12:00:30.000Z',
  migrations: [{ name: 'mig0', uid: OF_LOCK, vmi: OF_VMI }],
  quotas: [],
  vmmrqs: [],
  of: '',
};

/** Results of a live read of the tenant's namespace; `fails`: no answer. */
export type Found = 'free' | 'held' | 'malformed' | 'label only' | 'terminating' | 'gone' | 'fails';
export const aFound = fc.constantFrom<Found>(
  ...(['held', 'held', 'held'] as const),
  ...(['free', 'malformed', 'label only', 'terminating', 'gone', 'fails'] as const),
);

/** Mostly a usual value, sometimes an unusual one. */
const biased = <T, U>(usual: readonly T[], strange: readonly U[]): fc.Arbitrary<T | U> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...strange) },
  );

const NO_NAMES = ['', '../kube-system', 'a/b', '%2e', '\u0000', '\ud800', 'x'.repeat(2_000)];

const aUser = biased(
  ['alice', 'system:admin', CONTROLLER, CONTROLLER, ...OUR_USERS, userOf('kubevirt-controller', 'tenant')],
  [...NO_NAMES, `${CONTROLLER} `, CONTROLLER.toUpperCase(), '__proto__', 'toString'],
);
const aResource = biased(
  ['pods', 'pods', 'resourcequotas', 'namespaces', 'configmaps'],
  [...NO_NAMES, 'Pods', 'pods ', 'constructor'],
);
const aSubresource = biased(
  [undefined, undefined, '', 'resize', 'status', 'finalize', 'ephemeralcontainers'],
  [...NO_NAMES, 'Resize'],
);
const aNamespaceName = biased([TENANT, TENANT, TENANT, 'elsewhere', undefined], [...NO_NAMES, 'Tenant']);

const aMap = (
  keys: readonly string[],
  values: readonly string[],
): fc.Arbitrary<Record<string, string> | undefined> =>
  fc.option(
    fc.dictionary(biased(keys, ['', '__proto__', 'toString']), biased(values, NO_NAMES), {
      noNullPrototype: true,
    }),
    { nil: undefined },
  );

const OF_TARGET = { [KUBEVIRT.migrationJobUID]: OF_LOCK, [KUBEVIRT.createdBy]: OF_VMI };

const anObject = fc
  .record({
    labels: fc.oneof(
      fc.constantFrom(OF_TARGET, { ...OF_TARGET, [KUBEVIRT.createdBy]: 'another-uid' }),
      aMap(
        [KUBEVIRT.migrationJobUID, KUBEVIRT.createdBy, LABEL.locked, LABEL.raised, 'app'],
        [OF_LOCK, OF_LOCK, OF_VMI, 'true', 'another-uid', OF_LOCK.toUpperCase()],
      ),
    ),
    annotations: aMap(
      [
        ANNOTATION.lock,
        ANNOTATION.token,
        ANNOTATION.breakGlass,
        ANNOTATION.grant,
        ANNOTATION.lastAttempt,
        'note',
      ],
      [JSON.stringify(LOCK), '{}'],
    ),
  })
  .map((metadata) => ({ metadata: { name: 'x', ...metadata }, spec: {} }));

/** With the objects of the operation. */
const aChange = fc
  .record({
    operation: fc.constantFrom('CREATE', 'CREATE', 'UPDATE', 'DELETE'),
    object: anObject,
    oldObject: anObject,
  })
  .map(({ operation, object, oldObject }) => ({
    operation,
    object: operation === 'DELETE' ? null : object,
    oldObject: operation === 'CREATE' ? null : oldObject,
  }));

/** Fields that the guard does not read: known ones, and unknown ones of a later API server. */
const anAddition = fc.constantFrom<object>(
  {},
  { requestKind: { group: '', version: 'v1', kind: 'Any' }, options: { kind: 'CreateOptions' } },
  { tomorrow: [{}] },
  JSON.parse('{"__proto__": {"object": null, "operation": "CREATE"}}') as object,
);

/** The only pod that the lock admits. */
const TARGET = {
  resource: 'pods',
  subResource: undefined,
  change: {
    operation: 'CREATE',
    object: { metadata: { name: 'x', labels: { [KUBEVIRT.migrationJobUID]: OF_LOCK } }, spec: {} },
    oldObject: null,
  },
  namespace: TENANT,
  username: CONTROLLER,
} as const;

const orElse = <T, U>(usual: T, other: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const anAsked = fc.record({
  resource: aResource,
  subResource: aSubresource,
  change: aChange,
  namespace: aNamespaceName,
  username: aUser,
});
/** Mostly with one difference, or none. */
const nearlyTheTarget = fc.record({
  resource: orElse(TARGET.resource, aResource),
  subResource: orElse(TARGET.subResource, aSubresource),
  change: orElse(TARGET.change, aChange),
  namespace: orElse(TARGET.namespace, aNamespaceName),
  username: orElse(TARGET.username, aUser),
});

/** The review as the API server sends it. */
export const aReview = fc
  .record({
    asked: fc.oneof(anAsked, nearlyTheTarget),
    dryRun: fc.option(fc.boolean(), { nil: undefined }),
    addition: anAddition,
  })
  .map(({ asked: { resource, username, change, ...asked }, dryRun, addition }) => ({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'request-1',
      kind: { group: '', version: 'v1', kind: 'Any' },
      resource: { group: '', version: 'v1', resource },
      name: 'x',
      userInfo: { username, groups: ['system:authenticated'] },
      ...asked,
      dryRun,
      ...change,
      ...addition,
    },
  }));

export type Review = typeof aReview extends fc.Arbitrary<infer T> ? T : never;
