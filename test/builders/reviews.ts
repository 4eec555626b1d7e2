import fc from 'fast-check';
import { LOCK_VERSION, type Lock } from '../../functions/domain/lock.ts';
import { ANNOTATION, KUBEVIRT, LABEL, OUR_USERS, userOf } from '../../functions/domain/names.ts';

/** What any AdmissionReview may look like: as the API server sends them, and broken in every way that comes to mind. */

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
};

/** What a live read of the tenant's namespace may find; `fails`: there is no answer. */
export type Found = 'free' | 'held' | 'malformed' | 'label only' | 'terminating' | 'gone' | 'fails';
export const aFound = fc.constantFrom<Found>(
  ...(['held', 'held', 'held'] as const),
  ...(['free', 'malformed', 'label only', 'terminating', 'gone', 'fails'] as const),
);

const aUser = fc.constantFrom(
  'alice',
  'system:admin',
  CONTROLLER,
  ...OUR_USERS,
  userOf('kubevirt-controller', 'tenant'),
);
const aResource = fc.constantFrom('pods', 'pods', 'resourcequotas', 'namespaces', 'configmaps');
const aSubresource = fc.constantFrom(
  undefined,
  undefined,
  '',
  'resize',
  'status',
  'finalize',
  'ephemeralcontainers',
);
const anOperation = fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT');

const aMap = (
  keys: readonly string[],
  values: readonly string[],
): fc.Arbitrary<Record<string, string> | undefined> =>
  fc.option(fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values), { noNullPrototype: true }), {
    nil: undefined,
  });

const OF_TARGET = { [KUBEVIRT.migrationJobUID]: OF_LOCK, [KUBEVIRT.createdBy]: OF_VMI };

const anObject = fc
  .record({
    labels: fc.oneof(
      fc.constantFrom(OF_TARGET, { ...OF_TARGET, [KUBEVIRT.createdBy]: 'another-uid' }),
      aMap(
        [KUBEVIRT.migrationJobUID, KUBEVIRT.createdBy, LABEL.locked, 'app'],
        [OF_LOCK, OF_VMI, 'true', '', 'another-uid'],
      ),
    ),
    annotations: aMap([ANNOTATION.lock, ANNOTATION.lastAttempt, 'note'], [JSON.stringify(LOCK), '{}', '']),
  })
  .map((metadata) => ({ metadata: { name: 'x', ...metadata }, spec: {} }));

/** As the API server sends it. */
export const aReview = fc
  .record({
    resource: aResource,
    subResource: aSubresource,
    operation: anOperation,
    namespace: fc.constantFrom(TENANT, TENANT, TENANT, 'elsewhere', '', undefined),
    username: aUser,
    object: fc.option(anObject),
    oldObject: fc.option(anObject),
    dryRun: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ resource, username, ...request }) => ({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'request-1',
      kind: { group: '', version: 'v1', kind: 'Any' },
      resource: { group: '', version: 'v1', resource },
      name: 'x',
      userInfo: { username, groups: ['system:authenticated'] },
      ...request,
    },
  }));

/** What may stand where something else belongs. */
const anythingElse: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    0,
    -1,
    1e308,
    true,
    [],
    {},
    [[]],
    'CREATE',
    'pods',
    TENANT,
    '../kube-system',
    'a/b',
    '%2e',
  ),
  fc.constant('x'.repeat(2_000)),
  fc.constantFrom(CONTROLLER, ...OUR_USERS),
  fc.constant({ constructor: 1, toString: 2, hasOwnProperty: null }),
  fc.jsonValue({ maxDepth: 3 }),
);

const TEXTS = [
  ...['', 'CREATE', 'UPDATE', 'DELETE', 'pods', 'Pods', 'resourcequotas', 'namespaces', 'status', 'resize'],
  ...[TENANT, 'kube-system', '../kube-system', 'a/b', 'alice', CONTROLLER, `${CONTROLLER} `, ...OUR_USERS],
  ...[OF_LOCK, OF_LOCK.toUpperCase(), 'v2', '\u0000', '\ud800'],
];

interface Mutation {
  /** Which of the document's places, modulo their number. */
  readonly where: number;
  readonly how: 'text' | 'replace' | 'remove' | 'rename' | 'wrap' | 'prototype';
  readonly value: unknown;
  /** For `text`: what stands where another text belongs. */
  readonly text: string;
}

const aMutation: fc.Arbitrary<Mutation> = fc.record({
  where: fc.nat(),
  text: fc.constantFrom(...TEXTS),
  how: fc.constantFrom(
    'text',
    'text',
    'text',
    'text',
    'text',
    'replace',
    'remove',
    'rename',
    'wrap',
    'prototype',
  ),
  value: anythingElse,
});

/** A body that is sent, and how. */
export interface Sent {
  /** One character a byte (latin1), so that a counterexample can be read. */
  readonly body: string;
  readonly contentType: string;
}

const whole = (text: string): Sent => ({
  body: Buffer.from(text).toString('latin1'),
  contentType: 'application/json',
});

/** Broken: in what it says, or in how it is written. */
export const aBrokenBody: fc.Arbitrary<Sent> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(aReview, fc.array(aMutation, { minLength: 1, maxLength: 2 })).map(broken),
  },
  { weight: 1, arbitrary: fc.tuple(aReview, fc.nat()).map(cutOff) },
  { weight: 1, arbitrary: fc.tuple(aReview, fc.nat(), fc.nat({ max: 255 })).map(oneByteElse) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 300 })
      .map((bytes) => ({ ...whole(''), body: Buffer.from(bytes).toString('latin1') })),
  },
  { weight: 1, arbitrary: fc.json().map(whole) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        aReview,
        fc.constantFrom('', 'text/plain', 'application/yaml', 'application/json; charset=utf-7', '\u00e9'),
      )
      .map(([review, contentType]) => ({ ...whole(JSON.stringify(review)), contentType })),
  },
);

function broken([review, mutations]: [unknown, readonly Mutation[]]): Sent {
  const document = structuredClone(review);
  for (const mutation of mutations) mutate(document, mutation);
  return whole(JSON.stringify(document));
}

function cutOff([review, at]: [unknown, number]): Sent {
  const text = JSON.stringify(review);
  return whole(text.slice(0, at % text.length));
}

function oneByteElse([review, at, byte]: [unknown, number, number]): Sent {
  const body = Buffer.from(JSON.stringify(review));
  body.writeUInt8(byte, at % body.length);
  return { ...whole(''), body: body.toString('latin1') };
}

interface Place {
  readonly parent: Record<string, unknown>;
  readonly key: string;
}

function mutate(document: unknown, { where, how, value, text }: Mutation): void {
  const isFit = ({ parent, key }: Place): boolean => how !== 'text' || typeof parent[key] === 'string';
  const places = placesIn(document).filter(isFit);
  const place = places[where % places.length];
  if (place === undefined) return;
  const { parent, key } = place;
  const current = parent[key];
  if (how === 'text') parent[key] = text;
  // Its own copy: a later mutation may change what is in it, or put it into itself.
  if (how === 'replace') parent[key] = structuredClone(value);
  if (how === 'wrap') parent[key] = [current];
  if (how === 'rename' || how === 'remove') Reflect.deleteProperty(parent, key);
  // Go's decoder does not mind the case of a name; ours does.
  if (how === 'rename') parent[key.toUpperCase()] = current;
  if (how === 'prototype')
    Object.defineProperty(parent, '__proto__', {
      value: current,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

/** Every place in it that holds something. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const parent = value as Record<string, unknown>;
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...placesIn(parent[key])]);
}
