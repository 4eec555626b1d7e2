import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { markByHand, writeByHand } from '../../support/tenant/by-hand.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const namespaceNow = (tenant: Tenant): Namespace => {
  const namespace = tenant.history.latest(NAMESPACES);
  if (namespace === undefined) throw new Error(`${tenant.name} is gone`);
  return namespace;
};

test.each([
  ['no JSON', '{'],
  ['a lock without an end', JSON.stringify({ v: 1, token: 'x', acquiredAt: '2026-01-01T00:00:00Z' })],
  [
    'a lock of a later version that is past its time',
    JSON.stringify({
      v: 2,
      token: 'x',
      acquiredAt: '2026-01-01T00:00:00Z',
      expiresAt: '2026-01-01T00:00:30Z',
      migrations: [],
      quotas: [],
    }),
  ],
])('a lock that cannot be used (%s) is repaired, and never replaced', async (what, text) => {
  const tenant = await newTenant(environment, { name: what.replaceAll(' ', '-').toLowerCase() });
  const { history } = tenant;
  const resume = environment.hold(tenant.name, 'mtq-lock');
  await tenant.migrate();
  await tenant.untilBlocked();
  await writeByHand(environment.admin, tenant.name, {
    annotations: { [ANNOTATION.lock]: text },
    labels: { [LABEL.locked]: 'true' },
  });
  resume();
  await tenant.untilThrough();

  const locks = history.of(NAMESPACES).map(({ metadata }) => metadata.annotations?.[ANNOTATION.lock]);
  const broken = locks.lastIndexOf(text);
  expect(broken).toBeGreaterThan(0);
  expect(locks[broken + 1]).toBeUndefined();
  await expectAsBefore(environment.admin, tenant);
  expect(namespaceNow(tenant).metadata.labels?.[LABEL.locked]).toBeUndefined();
});

test.each([
  ['that is no JSON', { annotations: { [ANNOTATION.grant]: '{' }, labels: { [LABEL.raised]: 'true' } }],
  ['of which only the label is there', { labels: { [LABEL.raised]: 'true' } }],
])('a grant %s is dropped, and the quota stays as it is', async (what, metadata) => {
  const tenant = await newTenant(environment, { name: `grant-${what.replaceAll(' ', '-').toLowerCase()}` });
  const { history, name } = tenant;
  await markByHand(environment, { namespace: name, name: 'quota' }, metadata);
  const isMarked = ({ metadata: { annotations, labels } }: ResourceQuota): boolean =>
    annotations?.[ANNOTATION.grant] !== undefined || labels?.[LABEL.raised] !== undefined;
  await history.until('it was there, and is dropped', () => {
    const versions = history.of(RESOURCE_QUOTAS);
    return versions.some(isMarked) && !versions.slice(-1).some(isMarked);
  });
  const specs = new Set(history.of(RESOURCE_QUOTAS).map(({ spec }) => JSON.stringify(spec)));
  expect(specs.size).toBe(1);
  expect(history.locks()).toEqual([]);
});
