import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../../functions/domain/names.ts';
import { EVENTS, MTQS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { auditLog } from '../../support/environment/audit.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { installMtqs, writesOf } from '../../support/incumbent/incumbent.ts';
import { newTenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  // No guard listens there, so no step gets its view.
  environment = await startTestEnvironment({ env: { VIEW_URL: 'http://127.0.0.1:9/view' } });
  await installMtqs(environment.admin);
});

afterAll(async () => {
  await environment.stop();
});

test.each<[string, string, (tenant: string) => Promise<() => Promise<unknown>>]>([
  [
    'its own object',
    'MTQ object mtq',
    async () => {
      await environment.admin.create(MTQS, { metadata: { name: 'mtq' } });
      return () => environment.admin.delete(MTQS, { name: 'mtq' });
    },
  ],
  [
    'its lock',
    'ValidatingWebhookConfiguration lock.',
    async (tenant) => {
      const at = { name: `lock.${tenant}.com` };
      await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: at });
      return () => environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, at);
    },
  ],
])(
  'where the guard does not answer, the steps find the incumbent themselves (%s)',
  async (what, shown, comes) => {
    const { admin, cluster } = environment;
    const { controlPlane, eventing } = cluster;
    const name = `unseen-${what.replaceAll(' ', '-')}`;
    const before = (await auditLog(controlPlane, admin)).length;
    const goes = await comes(name);
    const tenant = await newTenant(environment, { name });
    await tenant.migrate();
    await tenant.history.until('the tenant sees why', (history) =>
      history.of(EVENTS).some(({ message }) => rawText(message).includes(shown)),
    );
    const feasible = { type: EVENT.migrationFeasible, from: 'feasibility', namespace: name, cause: 'again' };
    await environment.forge(feasible);
    await eventing.broker.idle();
    // The tenant of the case before goes on meanwhile.
    const requests = (await auditLog(controlPlane, admin)).slice(before);
    const its = requests.filter(({ objectRef: at }) => [at?.namespace, at?.name].includes(name));
    expect(writesOf(its)).toEqual([]);
    expect([tenant.history.locks(), tenant.history.latest(VMMRQS)?.status]).toEqual([[], undefined]);
    await goes();
  },
);
