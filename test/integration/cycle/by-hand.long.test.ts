import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { isEnforced } from '../../support/invariants/enforced.ts';
import { breakGlassToken } from '../../../functions/domain/break-glass.ts';
import { ensureBinaries } from '../../cluster/controlplane/binaries/ensure.ts';
import { bookkeepingOn } from '../../support/invariants/quiescent.ts';
import { askUntil } from '../../support/eventually.ts';
import { invariantViolations, wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { EVERYTHING, droppedEvents, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { forceUninstall } from '../../support/environment/force-uninstall.ts';
import { newTenant, readBack, type Tenant } from '../../support/tenant/tenant.ts';

/** The commands of docs/operations.md for a cluster where none of our processes runs. They need the administrator's jq. */
const HAS_JQ = spawnSync('jq', ['--version']).status === 0;
const DOCS = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');

const section = (title: string): string =>
  DOCS.split('\n## ').find((part) => part.startsWith(`${title}\n`)) ?? '';
/** The second block restores what a forced uninstall left behind in the middle of a cycle. */
const [, , , RESTORE = ''] = section('Uninstall').split(/```(?:sh)?\n/);
/** The break-glass command. */
const [, BREAK_GLASS = ''] = section('Break-glass').split(/```(?:sh)?\n/);

let environment: TestEnvironment;
let shell: (commands: string) => Promise<unknown>;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '45', STALL_SECONDS: '30' } });
  const { kubectl } = await ensureBinaries(['kubectl']);
  const env = {
    ...process.env,
    PATH: `${dirname(kubectl)}${delimiter}${process.env['PATH'] ?? ''}`,
    KUBECONFIG: environment.cluster.controlPlane.adminKubeconfig,
  };
  const once = async (commands: string): Promise<boolean> => {
    try {
      await promisify(execFile)('sh', ['-ec', commands], { env });
      return true;
    } catch (error) {
      if (!String(error).includes('(Conflict)')) throw error;
      return false;
    }
  };
  // As the docs say, the administrator repeats the commands after a conflict.
  shell = (commands) => askUntil('there is no conflict', () => once(commands), Boolean);
});

afterAll(async () => {
  await environment.stop();
});

/**
 * A raised tenant whose target pod is admitted, and whose events reach no step. The target pod must come first: after the
 * unlock, the policy would admit it for the grant, but outside any lock.
 */
async function raisedAndLeft(name: string): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  const dropped = droppedEvents(environment);
  dropped.set(name, WHAT_ENDS_A_LOCK);
  await tenant.migrate();
  await tenant.history.until('the migration is through', () => tenant.isThrough());
  expect(wasRaised(tenant.history)).toBe(true);
  dropped.set(name, EVERYTHING);
  return tenant;
}

/** Checks that the namespace is as before, although an administrator restored it by hand. */
async function expectPutBack(tenant: Tenant): Promise<void> {
  const { history, before } = tenant;
  await history.until('the original is enforced', () => {
    const quota = history.latest(RESOURCE_QUOTAS);
    return quota !== undefined && grantOf(quota).kind === 'none' && isEnforced(quota);
  });
  const { namespace, quotas } = await readBack(environment.admin, tenant);
  expect(quotas.map(({ spec }) => JSON.stringify(spec))).toEqual(
    before.quotas.map(({ spec }) => JSON.stringify(spec)),
  );
  const leftovers = [namespace, ...quotas].flatMap((object) =>
    object === undefined ? [] : bookkeepingOn(object),
  );
  // The break-glass annotation stays until the next cycle ends; any user may remove it.
  expect(leftovers.filter((key) => key !== ANNOTATION.breakGlass)).toEqual([]);
  const byHand = history
    .of(RESOURCE_QUOTAS)
    .find((quota, index, all) => index > 0 && hasGrant(all[index - 1]) && !hasGrant(quota));
  if (byHand !== undefined) history.noteForeign(byHand);
  // Between unlock and restore no lock protects the namespace.
  expect(
    invariantViolations(history).filter((violation) => !violation.includes('is not locked for it')),
  ).toEqual([]);
}

const hasGrant = (quota: Parameters<typeof grantOf>[0] | undefined): boolean =>
  quota !== undefined && grantOf(quota).kind !== 'none';

(HAS_JQ ? describe : describe.skip)('with the commands of docs/operations.md', () => {
  test('break-glass unlocks at once with webhooks and policies and no guard, and a returning guard restores the quota', async () => {
    const tenant = await raisedAndLeft('glass');
    const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
    const token = breakGlassToken(object.metadata.annotations);
    await environment.cluster.killGuard();
    try {
      await shell(BREAK_GLASS.replace('NAMESPACE', tenant.name).replace('TOKEN', token));
      await tenant.history.until('the lock is off', () => !tenant.history.isLocked());
    } finally {
      await environment.cluster.startGuard();
    }
    await expectPutBack(tenant);
  });

  test('the documented commands restore the original text after an uninstall while raised, without another installation', async () => {
    const tenant = await raisedAndLeft('torn-out');
    await forceUninstall(environment);
    expect(hasGrant(tenant.history.latest(RESOURCE_QUOTAS))).toBe(true);
    await shell(RESTORE);
    await expectPutBack(tenant);
  });
});
