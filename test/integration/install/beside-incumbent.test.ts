import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT, EVENT_REASON, KIND, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import { EVENTS, MTQS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { auditLog } from '../../support/environment/audit.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { askUntil } from '../../support/eventually.ts';
import { Incumbent, installMtqs, writesOf } from '../../support/incumbent/incumbent.ts';
import { limitLaunchers } from '../../support/tenant/refuse-targets.ts';
import { fullFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1' } });
  await installMtqs(environment.admin);
});

afterAll(async () => {
  await environment.stop();
});

interface Sign {
  /** Resolves with how to remove it. */
  readonly comes: (tenant: string) => Promise<() => Promise<unknown>>;
  /** What the tenant is shown. */
  readonly shown: string;
  /** It is there without the record too. */
  readonly lasts: boolean;
}

const SIGNS: Readonly<Record<string, Sign>> = {
  'its own object': {
    comes: async () => {
      await environment.admin.create(MTQS, { metadata: { name: 'mtq' } });
      return () => environment.admin.delete(MTQS, { name: 'mtq' });
    },
    shown: 'MTQ object mtq',
    lasts: true,
  },
  'its lock': {
    comes: async (tenant) => {
      const name = `lock.${tenant}.com`;
      await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: { name } });
      return () => environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name });
    },
    shown: 'ValidatingWebhookConfiguration lock.',
    lasts: true,
  },
  'its record alone': {
    comes: () => Promise.resolve(() => Promise.resolve()),
    shown: 'record',
    lasts: false,
  },
};

const untilGuardSees = async (tenant: string, shown: string | undefined): Promise<void> => {
  const guard = 'http://mtq-guard.mtq-system.svc.cluster.local:8080/view';
  const url = `${environment.cluster.eventing.rewrite(guard)}?namespace=${tenant}`;
  await askUntil(
    `the guard sees ${shown ?? 'no incumbent'}`,
    async () => (await (await fetch(url)).json()) as { readonly incumbent?: string },
    ({ incumbent: seen }) => (shown === undefined ? seen === undefined : seen?.includes(shown) === true),
  );
};

/** Every event that any step takes, as the source, the steps, the guard or any pod post them. */
async function askEveryStep({ name }: Tenant): Promise<void> {
  const about = { namespace: name, token: 'none', migrations: [{ name: 'mig0', uid: 'mig0' }] };
  for (const type of Object.values(EVENT))
    await environment.forge({ ...about, type, from: 'lock', quotas: ['quota'], vmmrqs: ['more'] });
  const source = [
    { ...KIND.migration, name: 'mig0', status: { phase: 'Pending' } },
    { ...KIND.vmmrq, name: 'more' },
    { ...KIND.quota, name: 'quota' },
  ];
  for (const type of Object.values(SOURCE_EVENT))
    for (const object of source) await environment.forgeSource({ ...object, type, namespace: name });
}

test.each(Object.entries(SIGNS))(
  'beside the incumbent (%s) we write nothing but Events, and it restores what it raised',
  async (what, { comes, shown, lasts }) => {
    const { admin, cluster } = environment;
    const { controlPlane, eventing } = cluster;
    const name = what.replaceAll(' ', '-');
    const goes = await comes(name);
    const tenant = await newTenant(environment, { name });
    const incumbent = new Incumbent(admin, name);
    const { object: original } = await admin.get(RESOURCE_QUOTAS, { namespace: name, name: 'quota' });
    await eventing.broker.idle();
    await incumbent.record('mig0');
    await untilGuardSees(name, shown);
    await eventing.broker.idle();
    const before = (await auditLog(controlPlane, admin)).length;
    const written = async (): Promise<string[]> =>
      writesOf((await auditLog(controlPlane, admin)).slice(before));

    await tenant.migrate();
    await tenant.untilBlocked();
    await tenant.history.until('the tenant sees why', (history) =>
      history.of(EVENTS).some(({ message }) => rawText(message).includes(shown)),
    );
    await askEveryStep(tenant);
    expect(tenant.isThrough()).toBe(false);
    await incumbent.raise(fullFor(2));
    await askEveryStep(tenant);
    await tenant.history.until('the migration is through', () => tenant.isThrough());
    expect(await written()).toEqual([]);
    await incumbent.restore();
    if (lasts) {
      await askEveryStep(tenant);
      expect(await written()).toEqual([]);
    }
    const { object: restored } = await admin.get(RESOURCE_QUOTAS, { namespace: name, name: 'quota' });
    expect(restored.spec).toEqual(original.spec);
    await goes();
    await untilGuardSees(name, undefined);
  },
);

/** A third-party policy on the pods of this namespace. */
async function aPolicy(name: string): Promise<void> {
  const { admin } = environment;
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': name } };
  const pods = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] };
  await admin.create(POLICIES, {
    metadata: { name },
    spec: {
      matchConstraints: { namespaceSelector, resourceRules: [pods] },
      validations: [{ expression: 'false', message: 'no pods on Saturdays' }],
    },
  });
  const spec = { policyName: name, validationActions: ['Deny'] };
  await admin.create(POLICY_BINDINGS, { metadata: { name }, spec });
  const inForce = await policiesInForce(admin);
  await inForce();
}

test.each<[string, string, (tenant: string) => Promise<void>]>([
  [
    'a LimitRange',
    'minimum cpu usage per Container',
    (tenant) => limitLaunchers(environment.admin, tenant, { min: { cpu: '2' } }),
  ],
  ['another policy', 'no pods on Saturdays', aPolicy],
])(
  'beside the incumbent we nudge no migration that something else than a quota refuses (%s)',
  async (what, words, refuses) => {
    const { admin, cluster } = environment;
    const { controlPlane, eventing } = cluster;
    const name = `nudged-${what.replaceAll(' ', '-').toLowerCase()}`;
    await admin.create(MTQS, { metadata: { name: 'mtq' } });
    const tenant = await newTenant(environment, { name });
    await refuses(name);
    await untilGuardSees(name, 'MTQ object mtq');
    await eventing.broker.idle();
    const before = (await auditLog(controlPlane, admin)).length;
    await tenant.migrate();
    await tenant.history.until('the tenant sees our verdict', (history) =>
      history
        .of(EVENTS)
        .some(
          ({ reason, message }) =>
            reason === EVENT_REASON.migrationBlocked && rawText(message).includes(words),
        ),
    );
    await askEveryStep(tenant);
    await eventing.broker.idle();
    expect(writesOf((await auditLog(controlPlane, admin)).slice(before))).toEqual([]);
    await admin.delete(MTQS, { name: 'mtq' });
    await untilGuardSees(name, undefined);
  },
);
