import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT_REASON } from '../../../functions/domain/names.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { EVENTS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAtRest, expectInTime, untilOver } from '../../support/at-rest.ts';
import { guardWebhooks } from '../../support/guard-webhooks.ts';
import { wasRaised } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { WITH_WEBHOOKS } from '../../support/wall.ts';
import { unlimitMigrations } from '../../support/limits.ts';
import { Measured } from '../../support/measured.ts';
import { fullFor, newTenant, type Tenant } from '../../support/tenant.ts';

/** All of them are raised at the same time, and edited: the longest that a lock may live. */
const LOCK_SECONDS = 45;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '30',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

const ORIGINAL = fullFor(1);

interface Edit {
  /** What somebody does to the raised quota; foreign versions come back. */
  readonly edit: (raised: ResourceQuota) => Promise<readonly ResourceQuota[]>;
  /** spec.hard in the end; undefined: there is no quota. */
  readonly want: ResourceList | undefined;
  /** Told as somebody's edit that stands. */
  readonly told?: string;
}

const at = ({ metadata }: ResourceQuota): { namespace: string; name: string } => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/** As `kubectl patch` and `kubectl edit` do. */
const patched =
  (hard: Record<string, string | null>): Edit['edit'] =>
  async (raised) => {
    const merge = { spec: { hard } };
    return [(await lab.admin.patch(RESOURCE_QUOTAS, at(raised), { merge })).object];
  };

const created = async ({
  metadata,
  spec,
}: Pick<ResourceQuota, 'metadata' | 'spec'>): Promise<ResourceQuota[]> => {
  const { name, namespace = '', annotations = {}, labels = {} } = metadata;
  await lab.admin.delete(RESOURCE_QUOTAS, { namespace, name });
  return [
    (await lab.admin.create(RESOURCE_QUOTAS, { metadata: { namespace, name, annotations, labels }, spec }))
      .object,
  ];
};

const EDITS: Readonly<Record<string, Edit>> = {
  'a raised key, higher than we raised it': {
    edit: patched({ 'requests.cpu': '50' }),
    want: { ...ORIGINAL, 'requests.cpu': '50' },
    told: 'requests.cpu=50',
  },
  'a raised key, lower than it was': {
    edit: patched({ 'requests.cpu': '1200m' }),
    want: { ...ORIGINAL, 'requests.cpu': '1200m' },
    told: 'requests.cpu=1200m',
  },
  'a raised key, back to what it was': {
    edit: patched({ 'requests.cpu': ORIGINAL['requests.cpu'] ?? '' }),
    want: ORIGINAL,
  },
  'a raised key, dropped': {
    edit: patched({ 'requests.cpu': null }),
    want: Object.fromEntries(Object.entries(ORIGINAL).filter(([key]) => key !== 'requests.cpu')),
    told: 'requests.cpu=dropped',
  },
  'another key, changed': { edit: patched({ pods: '20' }), want: { ...ORIGINAL, pods: '20' } },
  'another key, added': {
    edit: patched({ 'requests.storage': '1Ti' }),
    want: { ...ORIGINAL, 'requests.storage': '1Ti' },
  },
  'replaced by its manifest, our marks and all': {
    edit: async ({ metadata }) => {
      const { annotations: _annotations, labels: _labels, ...rest } = metadata;
      // A manifest names no version. (And with one it would be a Conflict when the target pod is charged just then.)
      const unversioned = { ...rest, resourceVersion: '' };
      const manifest = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: unversioned,
        spec: { hard: ORIGINAL },
      };
      return [(await lab.admin.replace(RESOURCE_QUOTAS, manifest)).object];
    },
    want: ORIGINAL,
  },
  deleted: {
    edit: async (raised) => {
      await lab.admin.delete(RESOURCE_QUOTAS, at(raised));
      return [];
    },
    want: undefined,
  },
  'deleted, and made anew from its manifest': {
    edit: ({ metadata: { name, namespace, uid, resourceVersion, creationTimestamp } }) =>
      created({
        metadata: {
          name,
          uid,
          resourceVersion,
          creationTimestamp,
          ...(namespace === undefined ? {} : { namespace }),
        },
        spec: { hard: ORIGINAL },
      }),
    want: ORIGINAL,
  },
  'deleted, and made anew from a copy of the raised one': { edit: created, want: ORIGINAL },
};

let lab: Lab;
const measured = new Measured('locked for');
const tenants = new Map<string, Tenant>();
/** What the guard said to the same edits before its webhooks were taken away. */
const refused = new Map<string, unknown>();

const raisedQuota = ({ name, history }: Tenant): ResourceQuota => {
  const quota = history.latest(RESOURCE_QUOTAS);
  if (quota === undefined) throw new Error(`${name} has no quota`);
  return quota;
};

beforeAll(async () => {
  // What is asked here is the webhook.
  lab = await startLab({ wall: WITH_WEBHOOKS, env: ENV });
  await unlimitMigrations(lab.admin);
  const names = Object.keys(EDITS);
  for (const [index, name] of names.entries()) {
    tenants.set(name, await newTenant(lab, { name: `edit-${index}` }));
  }
  const holds = [...tenants.values()].map(({ name }) => lab.hold(name, 'mtq-lower'));
  await Promise.all([...tenants.values()].map((tenant) => tenant.migrate()));
  await Promise.all(
    [...tenants.values()].map(({ history }) => history.until('it is raised', () => wasRaised(history))),
  );
  // Nothing of ours is under way but what waits for its event.
  for (const [name, { edit }] of Object.entries(EDITS)) {
    const tenant = tenants.get(name);
    if (tenant === undefined) continue;
    refused.set(name, await edit(raisedQuota(tenant)).catch((error: unknown) => error));
  }
  const webhooks = await guardWebhooks(lab);
  await webhooks.remove();
  for (const [name, { edit }] of Object.entries(EDITS)) {
    const tenant = tenants.get(name);
    if (tenant === undefined) continue;
    for (const version of await edit(raisedQuota(tenant))) tenant.history.noteForeign(version);
  }
  await webhooks.putBack();
  for (const go of holds) go();
}, 180_000);

afterAll(async () => {
  measured.print();
  await lab.stop();
});

describe('somebody edits a raised quota', () => {
  test.each(Object.keys(EDITS))('%s: the guard refuses it while it stands there', (name) => {
    expect(refused.get(name)).toBeInstanceOf(ApiError);
    expect(refused.get(name)).toMatchObject({ code: 403, reason: 'Forbidden' });
  });

  test.each(Object.entries(EDITS))('%s, past the guard: theirs stands', async (name, { want, told }) => {
    const tenant = tenants.get(name);
    if (tenant === undefined) throw new Error(`no tenant for ${name}`);
    await untilOver(tenant);
    const { items } = await lab.admin.list(RESOURCE_QUOTAS, { namespace: tenant.name });
    expect(items.map(({ spec }) => spec.hard)).toEqual(want === undefined ? [] : [want]);
    if (told !== undefined) {
      await tenant.history.until('it is told', (history) =>
        history
          .of(EVENTS)
          .some(({ reason, type, message }) =>
            [reason === EVENT_REASON.quotaLowered, type === 'Warning', message?.includes(told)].every(
              Boolean,
            ),
          ),
      );
    }
    measured.add(name, expectInTime(tenant, LOCK_SECONDS));
    await expectAtRest(lab.admin, tenant);
  });
});
