import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, LABEL, POLICY, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ApiRequest } from '../../support/api-request.ts';
import { createQuota } from '../../support/admission-requests.ts';
import { startPolicyWorld, type PolicyWorld, type Verdict } from '../../support/policy-world.ts';

/**
 * On the real API server, alone: what becomes of our own accounts' writes. The whole suite shows that what the steps
 * write passes; here is what they never write.
 */

const TENANT = 'tenant';
const MIGRATION = 'mig0';
/** As `raise` writes it. */
const record = (original: object, raised: object): string =>
  JSON.stringify({
    v: 1,
    token: 't',
    raisedAt: '2030-01-01T00:00:00.000Z',
    original,
    raised,
    vmmrqs: [],
    managers: {},
  });
const GRANT = record(
  { 'requests.cpu': '1', 'limits.memory': '1Gi' },
  { 'requests.cpu': '2', 'limits.memory': '2147483648' },
);
const HARD = { 'requests.cpu': '1', 'limits.memory': '1Gi', services: '9' };

let world: PolicyWorld;

beforeAll(async () => {
  world = await startPolicyWorld();
  const quota = (name: string, hard: object, annotations: Record<string, string> = {}): never =>
    ({ metadata: { name, labels: { team: 'a' }, annotations }, spec: { hard } }) as never;
  await world.tenant(TENANT, { labels: { team: 'a' }, annotations: { note: 'x' } }, [
    quota('quota', HARD),
    quota('raised', { ...HARD, 'requests.cpu': '2', 'limits.memory': '2Gi' }, { [ANNOTATION.grant]: GRANT }),
  ]);
  await world.admin.create(MIGRATIONS, {
    metadata: { name: MIGRATION, namespace: TENANT },
    spec: { vmiName: 'vm0' },
  });
  await world.installPolicies(await render('config/policies'), POLICY.ownWrites);
});

afterAll(async () => {
  await world.stop();
});

type Texts = Record<string, string>;

/** What a write may change of a namespace or a quota. */
interface Draft {
  metadata: { labels: Texts; annotations: Texts; finalizers?: string[]; resourceVersion?: string };
  spec: { hard: Texts };
  status: { hard: Texts; used: Texts };
}

type Change = (object: Draft) => void;

/** The object as it is now, changed, as a dry PUT unless `dry` is false. */
function put(
  object: KubernetesObject,
  { path, change, dry = true }: { path: string; change: Change; dry?: boolean },
): ApiRequest {
  const body = structuredClone(object) as unknown as Draft;
  // Over whatever the quota controller wrote meanwhile.
  delete body.metadata.resourceVersion;
  change(body);
  return { method: 'PUT', path: `${path}${dry ? '?dryRun=All' : ''}`, body };
}

const namespacePut = async (change: Change): Promise<ApiRequest> => {
  const { object } = await world.admin.get<Namespace>(NAMESPACES, { name: TENANT });
  return put(object, { path: `/api/v1/namespaces/${TENANT}`, change });
};

const quotaPut = async (
  change: Change,
  { name = 'quota', subresource = '', dry = true } = {},
): Promise<ApiRequest> => {
  const { object } = await world.admin.get<ResourceQuota>(RESOURCE_QUOTAS, { namespace: TENANT, name });
  const path = `/api/v1/namespaces/${TENANT}/resourcequotas/${name}${subresource}`;
  return put(object, { path, change, dry });
};

const migrationPatch = (body: object): ApiRequest => ({
  method: 'PATCH',
  path: `/apis/kubevirt.io/v1/namespaces/${TENANT}/virtualmachineinstancemigrations/${MIGRATION}?dryRun=All`,
  body,
  contentType: 'application/merge-patch+json',
});

const refused = (text: RegExp): object => ({
  by: POLICY.ownWrites,
  code: 403,
  text: expect.stringMatching(text),
});
const PASSES: Verdict = { by: 'nobody' };

describe('a namespace', () => {
  test.each<[string, Change, object]>([
    [
      'the lock, its label and the last attempt',
      ({ metadata }) => {
        metadata.labels[LABEL.locked] = 'true';
        Object.assign(metadata.annotations, { [ANNOTATION.lock]: '{}', [ANNOTATION.lastAttempt]: '{}' });
      },
      PASSES,
    ],
    [
      'a label of somebody else’s',
      ({ metadata }) => (metadata.labels['pod-security.kubernetes.io/enforce'] = 'privileged'),
      refused(/nothing but its own keys .* would change pod-security.kubernetes.io\/enforce$/),
    ],
    ['a label changed', ({ metadata }) => (metadata.labels['team'] = 'b'), refused(/change team$/)],
    [
      'a label less',
      ({ metadata }) => Reflect.deleteProperty(metadata.labels, 'team'),
      refused(/change team$/),
    ],
    [
      'an annotation less',
      ({ metadata }) => Reflect.deleteProperty(metadata.annotations, 'note'),
      refused(/change note$/),
    ],
    [
      'the key that keeps us away',
      ({ metadata }) => (metadata.annotations[ANNOTATION.skip] = 'true'),
      refused(/change mtq.kubevirt.io\/skip$/),
    ],
    ['a finalizer', ({ metadata }) => (metadata.finalizers = ['a.b/c']), refused(/finalizers/)],
  ])('%s', async (_what, change, want) => {
    for (const user of [SERVICE_ACCOUNT.lock, SERVICE_ACCOUNT.unlock, SERVICE_ACCOUNT.guard]) {
      expect([user, await world.ask(user, await namespacePut(change))]).toEqual([user, want]);
    }
  });
});

/** spec.hard with these, and this record. */
const raise =
  (hard: object, grant: string): Change =>
  ({ metadata, spec }) => {
    Object.assign(spec.hard, hard);
    Object.assign(metadata, { annotations: { [ANNOTATION.grant]: grant }, labels: { team: 'a' } });
    metadata.labels[LABEL.raised] = 'true';
  };
const CPU = { 'requests.cpu': '2' };
const ONE_CPU = { 'requests.cpu': '1' };

const asked = async (name: string, change: Change): Promise<[string, Verdict][]> =>
  Promise.all(
    [SERVICE_ACCOUNT.raise, SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.guard].map(
      async (user): Promise<[string, Verdict]> => [
        user,
        await world.ask(user, await quotaPut(change, { name })),
      ],
    ),
  );
const byAll = (want: object): unknown =>
  [SERVICE_ACCOUNT.raise, SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.guard].map((user) => [user, want]);

describe('a quota that is not raised', () => {
  const TWICE = `${record(ONE_CPU, CPU).slice(0, -1)},"original":{"requests.cpu":"9"}}`;

  test.each<[string, Change, object]>([
    ['raised, with its record', raise(CPU, record(ONE_CPU, CPU)), PASSES],
    ['written otherwise', raise({ 'limits.memory': '2Gi' }, GRANT), PASSES],
    ['the fence', ({ metadata }) => (metadata.annotations = { [ANNOTATION.lastRelease]: 't' }), PASSES],
    ['raised without a record', ({ spec }) => Object.assign(spec.hard, CPU), refused(/not requests.cpu$/)],
    [
      'more than the record says',
      raise({ 'requests.cpu': '3' }, record(ONE_CPU, CPU)),
      refused(/not requests.cpu$/),
    ],
    [
      'another key than the record says',
      raise({ services: '2' }, record(ONE_CPU, CPU)),
      refused(/not services$/),
    ],
    ['a key more', ({ spec }) => (spec.hard['pods'] = '2'), refused(/not pods$/)],
    ['a key less', ({ spec }) => Reflect.deleteProperty(spec.hard, 'services'), refused(/not services$/)],
    [
      'an original that it never was',
      raise(CPU, record({ 'requests.cpu': '9' }, CPU)),
      refused(/said before/),
    ],
    ['no original', raise(CPU, record({}, CPU)), refused(/said before/)],
    ['a record that says it twice', raise({}, TWICE), refused(/said before/)],
    ['a record that nobody can read', raise({}, '{'), refused(/said before/)],
    ['one too long to be ours', raise({}, record(ONE_CPU, CPU) + ' '.repeat(70_000)), refused(/said before/)],
    [
      'a label of somebody else’s',
      ({ metadata }) => (metadata.labels['team'] = 'b'),
      refused(/change team$/),
    ],
  ])('%s', async (_what, change, want) => {
    expect(await asked('quota', change)).toEqual(byAll(want));
  });
});

describe('a raised quota', () => {
  const bare: Change = ({ metadata }) => Reflect.deleteProperty(metadata.annotations, ANNOTATION.grant);
  const back: Change = ({ spec }) => Object.assign(spec.hard, HARD);
  const both =
    (...changes: Change[]): Change =>
    (object) =>
      changes.forEach((change) => change(object));

  test.each<[string, Change, object]>([
    ['its originals back', back, PASSES],
    ['its originals back and the record dropped', both(back, bare), PASSES],
    ['one of them back', ({ spec }) => Object.assign(spec.hard, ONE_CPU), PASSES],
    ['raised further', ({ spec }) => (spec.hard['requests.cpu'] = '3'), refused(/not requests.cpu$/)],
    [
      'another record',
      raise({}, record({ 'requests.cpu': '2' }, { 'requests.cpu': '4' })),
      refused(/said before/),
    ],
    ['the record dropped while it is raised', bare, refused(/said before/)],
  ])('%s', async (_what, change, want) => {
    expect(await asked('raised', change)).toEqual(byAll(want));
  });

  test('what somebody made unreadable, or changed by hand, can be let go of', async () => {
    const { admin } = world;
    const at = { namespace: TENANT, name: 'raised' };
    await admin.patch(RESOURCE_QUOTAS, at, {
      merge: { spec: { hard: { 'requests.cpu': '5', 'limits.memory': '5Gi' } } },
    });
    expect(await asked('raised', bare)).toEqual(byAll(PASSES));
    await admin.patch(RESOURCE_QUOTAS, at, {
      merge: { metadata: { annotations: { [ANNOTATION.grant]: '{' } } },
    });
    expect(await asked('raised', bare)).toEqual(byAll(PASSES));
  });
});

describe('any quota', () => {
  test('by `lock`: only dry; made by anyone: only dry', async () => {
    const change = raise(CPU, record(ONE_CPU, CPU));
    expect(await world.ask(SERVICE_ACCOUNT.lock, await quotaPut(change))).toEqual(PASSES);
    const real = await quotaPut(change, { dry: false });
    expect(await world.ask(SERVICE_ACCOUNT.lock, real)).toEqual(refused(/may UPDATE quotas only dry/));
    const create = createQuota(TENANT);
    expect(await world.ask(SERVICE_ACCOUNT.raise, create)).toEqual(PASSES);
    const made = { ...create, path: create.path.replace('?dryRun=All', '') };
    expect(await world.ask(SERVICE_ACCOUNT.raise, made)).toEqual(refused(/may CREATE quotas only dry/));
  });

  test.each<[string, Change, object]>([
    ['lowered', ({ status }) => (status.hard['services'] = '8'), PASSES],
    ['raised', ({ status }) => (status.hard['services'] = '10'), refused(/only lower/)],
    ['a key less', ({ status }) => Reflect.deleteProperty(status.hard, 'services'), refused(/only lower/)],
    ['as it is', ({ status }) => (status.used['services'] = '0'), PASSES],
    ['what is used', ({ status }) => (status.used['services'] = '1'), refused(/only lower/)],
  ])('its status: %s', async (_what, change, want) => {
    for (const user of [SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.guard]) {
      const request = await quotaPut(change, { subresource: '/status' });
      expect([user, await world.ask(user, request)]).toEqual([user, want]);
    }
  });
});

describe('a migration', () => {
  test.each<[string, object, object]>([
    ['the nudge', { metadata: { annotations: { [ANNOTATION.nudged]: 'x' } } }, PASSES],
    ['a label', { metadata: { labels: { a: 'b' } } }, refused(/change a$/)],
    ['its spec', { spec: { vmiName: 'other' } }, refused(/may not change the spec/)],
  ])('%s', async (_what, body, want) => {
    for (const user of [SERVICE_ACCOUNT.feasibility, SERVICE_ACCOUNT.lower]) {
      expect([user, await world.ask(user, migrationPatch(body))]).toEqual([user, want]);
    }
  });
});

test('whoever is not ours writes as ever', async () => {
  const change: Change = ({ metadata }) => (metadata.labels['team'] = 'b');
  expect(await world.ask('editor', await namespacePut(change))).toEqual(PASSES);
  expect(await world.ask('editor', await quotaPut(change, { dry: true }))).toEqual(PASSES);
});
