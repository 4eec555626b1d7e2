import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withLock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, PROOF_QUOTA } from '../../../functions/domain/names.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';

const LONG_AGO_MS = 60_000;

let guards: Guards;
let replica: Replica;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '1', CA_LEAD_MS: '0' });
  replica = await guards.start('counted');
});

afterAll(async () => {
  await guards.stop();
});

/** The value of one series in a scrape. */
async function valueOf(series: string): Promise<number> {
  const line = (await replica.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

/** Runs `act` before each scrape. */
const untilMore = (series: string, act?: () => Promise<void>): Promise<number> =>
  askUntil(
    `${series} counts`,
    async () => {
      await act?.();
      return valueOf(series);
    },
    (value) => value > 0,
  );

/**
 * The proof is the only request that the guard refuses itself: the policies refuse all others first. It may also pass, while
 * the API server has not seen the lock or the webhooks yet.
 */
const askForProof = async (namespace: string, token: string): Promise<void> => {
  const metadata = { name: PROOF_QUOTA, namespace, annotations: { [ANNOTATION.proof]: token } };
  const asRaise = await guards.as('raise');
  await asRaise.create(RESOURCE_QUOTAS, { metadata, spec: {} }, { dryRun: true }).catch(() => undefined);
};

test('a ready guard reports that it is ready, with no locks and no repairs', async () => {
  expect(await valueOf('mtq_ready')).toBe(1);
  expect(await valueOf('mtq_locked_namespaces')).toBe(0);
  expect(await valueOf('mtq_repairs_total{outcome="done"}')).toBe(0);
});

test('the metrics count a lock, and a review that refuses because of it', async () => {
  await guards.lock('held', 'token-1');
  expect(await untilMore('mtq_locked_namespaces')).toBe(1);
  await untilMore('mtq_longest_lock_seconds');
  await untilMore('mtq_reviews_total{resource="resourcequotas",outcome="refused"}', () =>
    askForProof('held', 'token-1'),
  );
  expect(await valueOf('mtq_review_duration_seconds_count')).toBeGreaterThan(0);
});

test('the metrics count a repair when no function ends a lock', async () => {
  const { object } = await guards.admin.create(NAMESPACES, { metadata: { name: 'left' } });
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const lock = { v: 1, token: 't', acquiredAt: at(-LONG_AGO_MS), expiresAt: at(1_000 - LONG_AGO_MS) };
  const locked = withLock(object, { ...lock, migrations: [], quotas: [], vmmrqs: [], of: '' });
  await writeByHand(guards.admin, 'left', locked.metadata);
  await untilMore('mtq_repairs_total{outcome="done"}');
  expect(await valueOf('mtq_repairs_total{outcome="failed"}')).toBe(0);
});
