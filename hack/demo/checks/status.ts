import { shown } from '../../../functions/domain/foreign-text.ts';
import { CONDITION } from '../../../functions/domain/names.ts';
import type { VmmrqStatus } from '../../../functions/domain/objects.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { RUNNERS, missingConditions } from '../runners.ts';
import { migrationOf, VMMRQ_NAME } from '../tenant.ts';
import { unless, type Case } from './check-result.ts';
import { shortfallsOf } from './shortfall.ts';

/** Checks the VMMRQ's conditions and the incumbent's fields. */
export async function statusCheck(demoCase: Case): Promise<string[]> {
  const { tenant, kind, admin } = demoCase;
  const { object } = await admin.get(VMMRQS, { namespace: tenant.namespace, name: VMMRQ_NAME });
  const { status = {} } = object;
  const waiting = Object.keys(status.migrationsToBlockingResourceQuotas ?? {}).join();
  const expected = kind === 'notEnough' ? tenant.vms.map(migrationOf).join() : '';
  const originals = status.originalBlockingResourceQuotas ?? [];
  return [
    ...missingConditions(object, RUNNERS[kind]).map((one) => `condition ${one.join(' is not ')}`),
    ...unless(waiting === expected, `it names as waiting: ${waiting}`),
    ...unless(originals.length === 0, 'it still names originals of raised quotas'),
    ...(kind === 'notEnough' ? saysWhatIsShort(status, demoCase) : []),
  ];
}

function saysWhatIsShort({ conditions = [] }: VmmrqStatus, demoCase: Case): string[] {
  const said = shown(conditions.find(({ type }) => type === CONDITION.notEnough)?.message);
  return shortfallsOf(demoCase).flatMap((short) =>
    unless(said.includes(short), `condition NotEnough does not say ${short}: ${said}`),
  );
}
