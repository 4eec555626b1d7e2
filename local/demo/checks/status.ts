import { CONDITION } from '../../../functions/domain/names.ts';
import type { Vmmrq, VmmrqStatus } from '../../../functions/domain/objects.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { DIRECTIONS } from '../courses.ts';
import { hasCondition, migrationOf, VMMRQ_NAME } from '../tenant.ts';
import { unless, type Case } from './finding.ts';
import { shortfallOf } from './shortfall.ts';

/** The VMMRQ's conditions, and the incumbent's fields. */
export async function statusCheck(subject: Case): Promise<string[]> {
  const { tenant, course, admin } = subject;
  const { object } = await admin.get(VMMRQS, { namespace: tenant.namespace, name: VMMRQ_NAME });
  const { status = {} } = object;
  const waiting = Object.keys(status.migrationsToBlockingResourceQuotas ?? {}).join();
  const expected = course === 'notEnough' ? tenant.vms.map(migrationOf).join() : '';
  const originals = status.originalBlockingResourceQuotas ?? [];
  return [
    ...wrongConditions(object, DIRECTIONS[course].conditions),
    ...unless(waiting === expected, `it names as waiting: ${waiting}`),
    ...unless(originals.length === 0, 'it still names originals of raised quotas'),
    ...(course === 'notEnough' ? saysWhatIsShort(status, subject) : []),
  ];
}

const wrongConditions = (vmmrq: Vmmrq, wanted: Readonly<Record<string, string>>): string[] =>
  Object.entries(wanted).flatMap(([type, status]) =>
    unless(hasCondition(vmmrq, type, status), `condition ${type} is not ${status}`),
  );

function saysWhatIsShort({ conditions = [] }: VmmrqStatus, subject: Case): string[] {
  const short = shortfallOf(subject);
  const said = conditions.find(({ type }) => type === CONDITION.notEnough)?.message ?? '';
  return unless(said.includes(short), `condition NotEnough does not say ${short}: ${said}`);
}
