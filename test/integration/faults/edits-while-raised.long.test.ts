import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ApiError, ignoreNotFound, isConflict } from '../../../functions/kubernetes/errors.ts';
import { KIND } from '../../../functions/domain/names.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { Measured } from '../../support/measured.ts';
import { fullFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** The test raises and edits all quotas at the same time, so locks must last long. */
const LOCK_SECONDS = 45;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '30',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

const ORIGINAL = fullFor(1);

interface Edit {
  /** An admin's change of the raised quota. Resolves to the versions that the API server stored. */
  readonly edit: (raised: ResourceQuota) => Promise<readonly ResourceQuota[]>;
  /** Expected final spec.hard; undefined: the quota is gone. */
  readonly want: ResourceList | undefined;
}

const at = ({ metadata }: ResourceQuota): { namespace: string; name: string } => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/** Writes as `kubectl patch` and `kubectl edit` do. */
const patched =
  (hard: Record<string, string | null>): Edit['edit'] =>
  async (raised) => {
    const merge = { spec: { hard } };
    return [(await environment.admin.patch(RESOURCE_QUOTAS, at(raised), { merge })).object];
  };

const deleted: Edit['edit'] = async (raised) => {
  await environment.admin.delete(RESOURCE_QUOTAS, at(raised));
  return [];
};

/** Writes as `kubectl replace` does, with a manifest that has neither our keys nor a resourceVersion. */
const replaced: Edit['edit'] = async ({ metadata }) => {
  const { annotations: _annotations, labels: _labels, ...rest } = metadata;
  const manifest = { ...KIND.quota, metadata: { ...rest, resourceVersion: '' }, spec: { hard: ORIGINAL } };
  return [(await environment.admin.replace(RESOURCE_QUOTAS, manifest)).object];
};

/** Deletes and creates the quota as `kubectl create` does, from a copy that has the annotations of the raise. */
const copied: Edit['edit'] = async ({ metadata, spec }) => {
  const { name, namespace = '', annotations = {}, labels = {} } = metadata;
  await ignoreNotFound(environment.admin.delete(RESOURCE_QUOTAS, { namespace, name }));
  const copy = { metadata: { namespace, name, annotations, labels }, spec };
  return [(await environment.admin.create(RESOURCE_QUOTAS, copy)).object];
};

const ALLOWED_EDITS: Readonly<Record<string, Edit>> = {
  'a raised key above the raised amount': {
    edit: patched({ 'requests.cpu': '50' }),
    want: { ...ORIGINAL, 'requests.cpu': '50' },
  },
  'a raised key below its original': {
    edit: patched({ 'requests.cpu': '1200m' }),
    want: { ...ORIGINAL, 'requests.cpu': '1200m' },
  },
  'a raised key dropped': {
    edit: patched({ 'requests.cpu': null }),
    want: Object.fromEntries(Object.entries(ORIGINAL).filter(([key]) => key !== 'requests.cpu')),
  },
  'another key changed': { edit: patched({ pods: '20' }), want: { ...ORIGINAL, pods: '20' } },
  'another key added': {
    edit: patched({ 'requests.storage': '1Ti' }),
    want: { ...ORIGINAL, 'requests.storage': '1Ti' },
  },
  'the quota deleted': { edit: deleted, want: undefined },
};

const REFUSED: Readonly<Record<string, Edit>> = {
  'the quota replaced by its manifest': { edit: replaced, want: ORIGINAL },
  'the quota deleted and created from a copy of the raised one': { edit: copied, want: undefined },
};
/** Either policy may answer: the namespace is locked, or only we may write these keys. */
const WHAT_TO_DO = /try again then|leave them out/;

let environment: TestEnvironment;
const measured = new Measured('locked for');
const tenants = new Map<string, Tenant>();
/** For each refused edit: the raised quota, and the answer. */
const attempts = new Map<string, { raised: ResourceQuota; answer: unknown }>();

const tenantOf = (what: string): Tenant => {
  const tenant = tenants.get(what);
  if (tenant === undefined) throw new Error(`no tenant for ${what}`);
  return tenant;
};

const raisedQuota = (what: string): ResourceQuota => {
  const quota = tenantOf(what).history.latest(RESOURCE_QUOTAS);
  if (quota === undefined) throw new Error(`${what}: there is no quota`);
  return quota;
};

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  await unlimitMigrations(environment.admin);
  const edits = { ...ALLOWED_EDITS, ...REFUSED };
  for (const [index, what] of Object.keys(edits).entries()) {
    tenants.set(what, await newTenant(environment, { name: `edit-${index}` }));
  }
  const all = [...tenants.values()];
  const holds = all.map(({ name }) => environment.hold(name, 'mtq-lower'));
  await Promise.all(all.map((tenant) => tenant.migrate()));
  await Promise.all(all.map(({ history }) => history.until('it is raised', () => wasRaised(history))));
  // The API server charges the target pod at the same time, so an admin's write may conflict and must be retried.
  for (const [what, { edit }] of Object.entries(ALLOWED_EDITS)) {
    const versions = await retryOnConflict(() => edit(raisedQuota(what)));
    for (const version of versions) tenantOf(what).history.noteForeign(version);
  }
  for (const [what, { edit }] of Object.entries(REFUSED)) {
    const raised = raisedQuota(what);
    attempts.set(what, { raised, answer: await edit(raised).catch((error: unknown) => error) });
  }
  for (const go of holds) go();
}, 180_000);

afterAll(async () => {
  measured.print();
  await environment.stop();
});

async function retryOnConflict<T>(write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

async function expectInTheEnd(what: string, want: ResourceList | undefined): Promise<void> {
  const tenant = tenantOf(what);
  await untilOver(tenant);
  const { items } = await environment.admin.list(RESOURCE_QUOTAS, { namespace: tenant.name });
  expect(items.map(({ spec }) => spec.hard)).toEqual(want === undefined ? [] : [want]);
  measured.add(what, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
}

describe('an admin edits a raised quota', () => {
  test.each(Object.entries(ALLOWED_EDITS))('%s: the edit wins (F20, F22, F23)', async (what, { want }) => {
    await expectInTheEnd(what, want);
  });

  test.each(Object.entries(REFUSED))(
    '%s: refused until the namespace is unlocked (F21)',
    async (what, { edit, want }) => {
      const { raised, answer } = attempts.get(what) ?? {};
      if (raised === undefined) throw new Error(`${what}: not tried`);
      expect(answer).toBeInstanceOf(ApiError);
      expect(answer).toMatchObject({ code: 403 });
      expect(String(answer)).toMatch(WHAT_TO_DO);
      await expectInTheEnd(what, want);
      const { annotations: _annotations, labels: _labels, ...plain } = raised.metadata;
      await expect(edit({ ...raised, metadata: plain })).resolves.toHaveLength(1);
    },
  );
});
