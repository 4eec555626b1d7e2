import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  DRY_RUN_GRANT,
  LABEL,
  OUR_USERS,
  POLICY,
  SERVICE_ACCOUNT,
  userOf,
} from '../../../functions/domain/names.ts';
import { withoutLock } from '../../../functions/domain/lock.ts';
import type { KubernetesObject, Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { loweredQuota } from '../../../functions/domain/quota/lower.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import { createProof } from '../../support/policies/admission-requests.ts';
import { askUntil } from '../../support/eventually.ts';
import { startPolicyWorld, type PolicyWorld, type Verdict } from '../../support/policies/policy-world.ts';

/**
 * The policy for our own accounts' writes, on the real API server. All other tests show that the steps' writes pass; these
 * tests send writes that no step sends. RBAC allows everything here.
 */

/** Locked, with one quota that is not raised and one that is. */
const TENANT = 'tenant';
const FREE = 'tenant-free';
const MIGRATION = 'mig0';
const GRANT = JSON.stringify({ v: 1, token: 't', raised: { 'requests.cpu': '2' } });
const HARD = { 'requests.cpu': '1', 'limits.memory': '1Gi', services: '9' };
const RAISED = { 'requests.cpu': '2', 'limits.memory': '2Gi' };
const RECORD = { labels: { team: 'a', [LABEL.raised]: 'true' }, annotations: { [ANNOTATION.grant]: GRANT } };

/** Our accounts that write. */
/** The accounts that have rights on quotas; RBAC gives `progress` and the source none (contract/rights). */
const OURS = Object.values<string>(SERVICE_ACCOUNT).filter((account) => OUR_USERS.includes(userOf(account)));

let world: PolicyWorld;

beforeAll(async () => {
  world = await startPolicyWorld();
  const quota = (name: string, metadata: object = {}): New<ResourceQuota> => ({
    metadata: { name, labels: { team: 'a' }, ...metadata },
    spec: { hard: HARD },
  });
  const labels = { team: 'a', [LABEL.locked]: 'true' };
  await world.tenant(TENANT, { labels, annotations: { note: 'x' } }, [
    quota('quota'),
    quota('raised', RECORD),
  ]);
  await world.tenant(FREE, {}, [quota('quota')]);
  for (const namespace of [TENANT, FREE]) {
    await askUntil(
      'the quotas are counted',
      () => world.admin.list<ResourceQuota>(RESOURCE_QUOTAS, { namespace }),
      ({ items }) => items.every(({ status }) => status?.hard?.['services'] === '9'),
    );
  }
  // A recount would lower the quotas that the test raises.
  await world.pauseControllers();
  await world.admin.patch(
    RESOURCE_QUOTAS,
    { namespace: TENANT, name: 'raised' },
    { merge: { status: { hard: RAISED } }, subresource: 'status' },
  );
  await world.admin.create(MIGRATIONS, {
    metadata: { name: MIGRATION, namespace: TENANT },
    spec: { vmiName: 'vm0' },
  });
  for (const account of OURS) await world.mayEverything(account);
  await world.installPolicies(await render('config/policies'), POLICY.ownWrites);
});

afterAll(async () => {
  await world.stop();
});

type Texts = Record<string, string>;

/** The parts of a namespace or a quota that a test may change. */
interface Draft {
  metadata: {
    labels: Texts;
    annotations: Texts;
    finalizers?: string[];
    ownerReferences?: object[];
    resourceVersion?: string;
  };
  spec: { hard: Texts; scopes?: string[] };
  status: { hard: Texts; used: Texts };
}

type Change = (object: Draft) => void;

/** A PUT of the current object with a change; a dry run unless `dry` is false. */
function put(
  object: KubernetesObject,
  { path, change, dry = true }: { path: string; change: Change; dry?: boolean },
): ApiRequest {
  const body = structuredClone(object) as unknown as Draft;
  // Without a resourceVersion, so that a write of the quota controller causes no conflict.
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
  { namespace = TENANT, name = 'quota', subresource = '/status', dry = true } = {},
): Promise<ApiRequest> => {
  const { object } = await world.admin.get<ResourceQuota>(RESOURCE_QUOTAS, { namespace, name });
  const path = `/api/v1/namespaces/${namespace}/resourcequotas/${name}${subresource}`;
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
const ALLOWED: Verdict = { by: 'none' };
const OWNER = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };

describe('a namespace', () => {
  test.each<[string, Change, object]>([
    [
      'the lock, its label and the last attempt',
      ({ metadata }) => {
        metadata.labels[LABEL.locked] = 'no';
        Object.assign(metadata.annotations, { [ANNOTATION.lock]: '{}', [ANNOTATION.lastAttempt]: '{}' });
        Object.assign(metadata.annotations, { [ANNOTATION.token]: 't', [ANNOTATION.migrations]: 'a/b' });
        metadata.annotations[ANNOTATION.breakGlass] = 't';
      },
      ALLOWED,
    ],
    [
      'a removed lock label',
      ({ metadata }) => Reflect.deleteProperty(metadata.labels, LABEL.locked),
      ALLOWED,
    ],
    [
      'our key for a quota',
      ({ metadata }) => (metadata.annotations[ANNOTATION.grant] = '{}'),
      refused(/change mtq.kubevirt.io\/grant$/),
    ],
    [
      'a foreign label',
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
    ['an owner', ({ metadata }) => (metadata.ownerReferences = [OWNER]), refused(/ownerReferences/)],
  ])('%s', async (_what, change, want) => {
    for (const user of [SERVICE_ACCOUNT.lock, SERVICE_ACCOUNT.unlock, SERVICE_ACCOUNT.guard]) {
      expect([user, await world.ask(user, await namespacePut(change))]).toEqual([user, want]);
    }
  });
});

/** Sets status.hard, the label and the grant. */
const raise =
  (hard: object): Change =>
  (quota) => {
    Object.assign(quota.status.hard, hard);
    Object.assign(quota.metadata, structuredClone(RECORD));
  };
const CPU = { 'requests.cpu': '2' };
const fence: Change = ({ metadata }) => {
  metadata.annotations = { ...metadata.annotations, [ANNOTATION.lastRelease]: 't admitted' };
};
const withoutRecord: Change = ({ metadata }) => {
  Reflect.deleteProperty(metadata.labels, LABEL.raised);
  Reflect.deleteProperty(metadata.annotations, ANNOTATION.grant);
};
const back: Change = ({ status }) => (status.hard = { ...HARD });
const all =
  (...changes: Change[]): Change =>
  (object) =>
    changes.forEach((change) => change(object));

/** Accounts that may only lower. */
const LOWERING = [SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.guard];
const RAISING = [SERVICE_ACCOUNT.raise, ...LOWERING];

interface Case {
  readonly change: Change;
  /** The refusal for each account that may not; absent: all may. */
  readonly refuses?: readonly string[];
  readonly text?: RegExp;
}

const expectVerdicts = async (
  { change, refuses = [], text = /^$/ }: Case,
  options: { namespace?: string; name?: string } = {},
): Promise<void> => {
  for (const user of RAISING) {
    const verdict = await world.ask(user, await quotaPut(change, options));
    expect([user, verdict]).toEqual([user, refuses.includes(user) ? refused(text) : ALLOWED]);
  }
};

const AMOUNT = /^this account may set status.hard to spec.hard, .*: not /;

describe('the status of a quota that is not raised', () => {
  test.each<[string, Case]>([
    ['raised, with its record', { change: raise(CPU), refuses: LOWERING, text: AMOUNT }],
    [
      'raised in part, as others write it',
      { change: raise({ 'limits.memory': '2147483648' }), refuses: LOWERING, text: AMOUNT },
    ],
    ['the fence', { change: fence }],
    ['a record and nothing raised', { change: raise({}) }],
    ['the same amounts written otherwise', { change: raise({ 'requests.cpu': '1000m' }) }],
    [
      'raised without label and grant',
      { change: ({ status }) => Object.assign(status.hard, CPU), refuses: RAISING, text: AMOUNT },
    ],
    [
      'raised without the label',
      {
        change: all(raise(CPU), ({ metadata }) => Reflect.deleteProperty(metadata.labels, LABEL.raised)),
        refuses: RAISING,
        text: AMOUNT,
      },
    ],
    [
      'raised without the grant',
      {
        change: all(raise(CPU), ({ metadata }) => (metadata.annotations = {})),
        refuses: RAISING,
        text: AMOUNT,
      },
    ],
    ['a key more', { change: raise({ pods: '2' }), refuses: RAISING, text: /: not pods$/ }],
    ['less than the spec', { change: raise({ services: '8' }), refuses: RAISING, text: /: not services$/ }],
    [
      'a key less',
      {
        change: ({ status }) => Reflect.deleteProperty(status.hard, 'services'),
        refuses: RAISING,
        text: /: not services$/,
      },
    ],
    [
      'what is used',
      { change: ({ status }) => (status.used['services'] = '1'), refuses: RAISING, text: /status.used/ },
    ],
    [
      'nothing used any more',
      { change: ({ status }) => (status.used = {}), refuses: RAISING, text: /status.used/ },
    ],
    [
      'a foreign label',
      { change: ({ metadata }) => (metadata.labels['team'] = 'b'), refuses: RAISING, text: /change team$/ },
    ],
    [
      'our key for a namespace',
      {
        change: ({ metadata }) => (metadata.annotations = { [ANNOTATION.lock]: '{}' }),
        refuses: RAISING,
        text: /change mtq.kubevirt.io\/lock$/,
      },
    ],
    [
      'a finalizer',
      { change: ({ metadata }) => (metadata.finalizers = ['a.b/c']), refuses: RAISING, text: /finalizers/ },
    ],
    [
      'an owner',
      {
        change: ({ metadata }) => (metadata.ownerReferences = [OWNER]),
        refuses: RAISING,
        text: /ownerReferences/,
      },
    ],
  ])('%s', async (_what, one) => {
    await expectVerdicts(one);
  });

  test('may not be raised in an unlocked namespace', async () => {
    await expectVerdicts({ change: raise(CPU), refuses: RAISING, text: AMOUNT }, { namespace: FREE });
    await expectVerdicts({ change: fence }, { namespace: FREE });
  });

  test('may be raised there by `raise`, as a dry run that says so', async () => {
    const change = all(raise(CPU), ({ metadata }) => {
      metadata.annotations[ANNOTATION.grant] = DRY_RUN_GRANT;
    });
    await expectVerdicts({ change, refuses: LOWERING, text: AMOUNT }, { namespace: FREE });
    const real = await quotaPut(change, { namespace: FREE, dry: false });
    expect(await world.ask(SERVICE_ACCOUNT.raise, real)).toEqual(refused(AMOUNT));
  });
});

describe('the status of a raised quota', () => {
  const AT = { name: 'raised' };

  test.each<[string, Case]>([
    ['lowered, and the record gone', { change: all(back, withoutRecord, fence) }],
    ['lowered, and the record kept', { change: back }],
    ['lowered in part', { change: ({ status }) => (status.hard['requests.cpu'] = '1') }],
    ['the fence', { change: fence }],
    [
      'raised further',
      { change: ({ status }) => (status.hard['requests.cpu'] = '3'), refuses: LOWERING, text: AMOUNT },
    ],
    [
      'another record',
      { change: ({ metadata }) => (metadata.annotations[ANNOTATION.grant] = '{"token":"t","v":1}') },
    ],
    [
      'the record dropped while it is raised',
      { change: withoutRecord, refuses: RAISING, text: /raised without label and grant$/ },
    ],
    [
      'the record dropped while a part of it is raised',
      {
        change: all(withoutRecord, ({ status }) => (status.hard['requests.cpu'] = '1')),
        refuses: RAISING,
        text: /raised without label and grant$/,
      },
    ],
    [
      'the label dropped while it is raised',
      {
        change: ({ metadata }) => Reflect.deleteProperty(metadata.labels, LABEL.raised),
        refuses: RAISING,
        text: /raised without label and grant$/,
      },
    ],
  ])('%s', async (_what, one) => {
    await expectVerdicts(one, AT);
  });

  // The policy must not parse the grant: a quota with an unexpected grant must still be lowered.
  test.each([
    ['in another order', '{"raised":{"requests.cpu":"2"},"token":"t","v":1}'],
    ['that is unreadable', '{'],
    ['that is longer than any real one', GRANT + ' '.repeat(70_000)],
    ['that is empty', ''],
  ])('may be lowered with a grant %s', async (_what, grant) => {
    await world.admin.patch(
      RESOURCE_QUOTAS,
      { namespace: TENANT, name: 'raised' },
      { merge: { metadata: { annotations: { [ANNOTATION.grant]: grant } } } },
    );
    await expectVerdicts({ change: all(back, withoutRecord, fence) }, AT);
    await expectVerdicts({ change: fence }, AT);
  });

  test('may be lowered to a spec that an admin has changed meanwhile', async () => {
    const spec = { hard: { 'requests.cpu': '5', 'limits.memory': '512Mi' } };
    await world.admin.patch(RESOURCE_QUOTAS, { namespace: TENANT, name: 'raised' }, { merge: { spec } });
    const toSpec: Change = (quota) => (quota.status.hard = { ...quota.spec.hard });
    await expectVerdicts({ change: all(toSpec, withoutRecord, fence) }, AT);
  });
});

describe('any quota', () => {
  test('may not be updated by our accounts, not even as a dry run', async () => {
    for (const user of OURS) {
      const request = await quotaPut(fence, { subresource: '' });
      expect([user, await world.ask(user, request)]).toEqual([
        user,
        refused(/may not UPDATE a ResourceQuota/),
      ]);
    }
    const lifted = await quotaPut(({ spec }) => (spec.hard['services'] = '99'), { subresource: '' });
    expect(await world.ask(SERVICE_ACCOUNT.raise, lifted)).toEqual(refused(/may not change the spec/));
  });

  test('may not be created by our accounts, except as raise’s dry run for the proof', async () => {
    for (const user of OURS) {
      const isRaise = user === SERVICE_ACCOUNT.raise;
      expect([user, await world.ask(user, createProof(TENANT, 't'))]).toEqual([
        user,
        isRaise ? ALLOWED : refused(/may not CREATE a ResourceQuota/),
      ]);
      const { path, ...rest } = createProof(TENANT, 't');
      const made = { ...rest, path: path.replace('?dryRun=All', '') };
      expect([user, await world.ask(user, made)]).toEqual([user, refused(/may not CREATE a ResourceQuota/)]);
    }
  });
});

describe('a migration', () => {
  test.each<[string, object, object]>([
    ['the nudge', { metadata: { annotations: { [ANNOTATION.nudged]: 'x' } } }, ALLOWED],
    ['a label', { metadata: { labels: { a: 'b' } } }, refused(/change a$/)],
    ['its spec', { spec: { vmiName: 'other' } }, refused(/may not change the spec/)],
  ])('%s', async (_what, body, want) => {
    for (const user of [SERVICE_ACCOUNT.feasibility, SERVICE_ACCOUNT.lower]) {
      expect([user, await world.ask(user, migrationPatch(body))]).toEqual([user, want]);
    }
  });
});

test('other users’ writes are not restricted', async () => {
  const change: Change = ({ metadata }) => (metadata.labels['team'] = 'b');
  expect(await world.ask('editor', await namespacePut(change))).toEqual(ALLOWED);
  expect(await world.ask('editor', await quotaPut(change, { dry: true }))).toEqual(ALLOWED);
});

/** The admission policies admit every write that ends a lock, and of a large map they refuse what the fixed lists have. */
describe('an object with many keys', () => {
  const COUNT = 200;
  /** A namespace, a raised quota or a migration with one large map. */
  const LARGE = {
    labels: { metadata: { labels: many((index) => [`k${index}`, '']) } },
    annotations: { metadata: { annotations: many((index) => [`k${index}`, '']) } },
    'spec.hard': { spec: { hard: many((index) => [`count/k${index}.x`, '1']) } },
    'status.hard': { status: { hard: many((index) => [`count/k${index}.x`, '1']) } },
    'status.used': { status: { used: many((index) => [`count/k${index}.x`, '0']) } },
    'spec.hard and status.hard': {
      // Its owner has added a key that is not counted yet.
      spec: { hard: { ...many((index) => [`count/k${index}.x`, '2']), pods: '9' } },
      status: { hard: many((index) => [`count/k${index}.x`, '1']) },
    },
  } as const;
  type Large = keyof typeof LARGE;
  const OF_METADATA: readonly Large[] = ['labels', 'annotations'];
  const nameOf = (large: Large): string => large.replaceAll(/[^a-z]+/g, '-');
  const quotaAt = (large: Large): { namespace: string; name: string } => ({
    namespace: 'many-quotas',
    name: nameOf(large),
  });
  const namespaceNamed = (large: Large): string => `many-${nameOf(large)}`;

  function many(entry: (index: number) => [string, string]): Texts {
    return Object.fromEntries(Array.from({ length: COUNT }, (_, index) => entry(index)));
  }

  beforeAll(async () => {
    const { admin } = world;
    const lock = {
      labels: { [LABEL.locked]: 'true', 'pod-security.kubernetes.io/enforce': 'restricted' },
      annotations: { [ANNOTATION.lock]: '{}', [ANNOTATION.token]: 't', [ANNOTATION.migrations]: 'a/b' },
    };
    await admin.create(NAMESPACES, { metadata: { name: 'many-quotas', ...lock } });
    for (const large of Object.keys(LARGE) as Large[]) {
      const { metadata = {}, status, ...spec } = LARGE[large] as Record<string, object>;
      const at = quotaAt(large);
      await admin.create(RESOURCE_QUOTAS, { metadata: { ...at, ...RECORD }, spec: { hard: HARD } });
      await admin.patch(RESOURCE_QUOTAS, at, { merge: { metadata, ...spec } });
      const counted = { hard: { ...HARD, ...RAISED }, used: { services: '0' } };
      await admin.patch(RESOURCE_QUOTAS, at, { merge: { status: counted }, subresource: 'status' });
      await admin.patch(RESOURCE_QUOTAS, at, { merge: { status }, subresource: 'status' });
    }
    for (const large of OF_METADATA) {
      await admin.create(NAMESPACES, { metadata: { name: namespaceNamed(large), ...lock } });
      await admin.patch(NAMESPACES, { name: namespaceNamed(large) }, { merge: LARGE[large] });
      const migration = { namespace: TENANT, name: namespaceNamed(large) };
      await admin.create(MIGRATIONS, { metadata: migration, spec: { vmiName: 'vm0' } });
      await admin.patch(MIGRATIONS, migration, { merge: LARGE[large] });
    }
    const others = (await render('config/policies')).filter(
      ({ metadata }) => metadata.name !== POLICY.ownWrites,
    );
    await world.installPolicies(others);
  });

  const largeQuotaPut = async (large: Large, change: Change): Promise<ApiRequest> =>
    quotaPut(change, quotaAt(large));

  describe.each(Object.keys(LARGE) as Large[])('a quota with a large %s', (large) => {
    test.each(LOWERING)('is lowered by %s', async (user) => {
      const { object } = await world.admin.get<ResourceQuota>(RESOURCE_QUOTAS, quotaAt(large));
      const body = loweredQuota(object, { token: 't', outcome: 'failed' });
      const path = `/api/v1/namespaces/many-quotas/resourcequotas/${nameOf(large)}/status?dryRun=All`;
      expect(await world.ask(user, { method: 'PUT', path, body })).toEqual(ALLOWED);
    });

    test.each<[string, Case]>([
      ['the fence', { change: fence }],
      ['another record', { change: ({ metadata }) => (metadata.annotations[ANNOTATION.grant] = '{}') }],
      [
        'raised further',
        {
          change: ({ status }) => (status.hard['requests.cpu'] = '3'),
          refuses: LOWERING,
          text: /: not requests.cpu$/,
        },
      ],
      [
        'a key less',
        {
          change: ({ status }) => Reflect.deleteProperty(status.hard, 'services'),
          refuses: RAISING,
          text: /: not services$/,
        },
      ],
      [
        'the record dropped while it is raised',
        {
          change: withoutRecord,
          refuses: RAISING,
          text: /raised without label and grant$/,
        },
      ],
    ])('%s', async (_what, { change, refuses = [], text = /^$/ }) => {
      for (const user of RAISING) {
        const verdict = await world.ask(user, await largeQuotaPut(large, change));
        expect([user, verdict]).toEqual([user, refuses.includes(user) ? refused(text) : ALLOWED]);
      }
    });
  });

  // The policy compares only some keys of a large map.
  test('a status.hard may not become large to hide the raise of a device', async () => {
    const change: Change = ({ status }) => {
      Object.assign(status.hard, LARGE['spec.hard and status.hard'].status.hard);
      Object.assign(
        status.hard,
        many((index) => [`count/l${index}.x`, '1']),
      );
      status.hard['requests.example.com/gpu'] = '2';
    };
    await expectVerdicts({ change, refuses: RAISING, text: /: not more keys$/ });
  });

  describe.each(OF_METADATA)('a namespace with many %s', (large) => {
    const write = async (user: string, changed: (namespace: Namespace) => Namespace): Promise<Verdict> => {
      const name = namespaceNamed(large);
      const { object } = await world.admin.get<Namespace>(NAMESPACES, { name });
      const path = `/api/v1/namespaces/${name}?dryRun=All`;
      return world.ask(user, { method: 'PUT', path, body: changed(object) });
    };
    const withMetadata =
      (labels: object, annotations: object) =>
      ({ metadata, ...rest }: Namespace): Namespace => ({
        ...rest,
        metadata: {
          ...metadata,
          labels: { ...metadata.labels, ...labels },
          annotations: { ...metadata.annotations, ...annotations },
        },
      });
    const writers = [SERVICE_ACCOUNT.raise, SERVICE_ACCOUNT.unlock, SERVICE_ACCOUNT.guard];

    test.each(writers)('is unlocked by %s', async (user) => {
      expect(await write(user, (namespace) => withoutLock(namespace, '{}'))).toEqual(ALLOWED);
    });

    test.each(writers)('keeps its lock, of which %s writes the end', async (user) => {
      expect(await write(user, withMetadata({}, { [ANNOTATION.lock]: '{"ended":{}}' }))).toEqual(ALLOWED);
    });

    test('keeps its pod-security.kubernetes.io/enforce', async () => {
      const labels = { 'pod-security.kubernetes.io/enforce': 'privileged', [LABEL.locked]: 'no' };
      for (const user of writers) {
        const verdict = await write(user, withMetadata(labels, {}));
        expect([user, verdict]).toEqual([user, refused(/change pod-security.kubernetes.io\/enforce$/)]);
      }
    });
  });

  test.each(OF_METADATA)('a migration with many %s is nudged', async (large) => {
    const { path, ...rest } = migrationPatch({ metadata: { annotations: { [ANNOTATION.nudged]: 'x' } } });
    const request = { ...rest, path: path.replace(MIGRATION, namespaceNamed(large)) };
    for (const user of [SERVICE_ACCOUNT.feasibility, SERVICE_ACCOUNT.lower]) {
      expect([user, await world.ask(user, request)]).toEqual([user, ALLOWED]);
    }
  });
});
