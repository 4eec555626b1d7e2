import type { Assessment } from '../domain/verdict/assessment.ts';
import { candidatesAmong, enteredAt, overlaps } from '../domain/migration.ts';
import { KIND, REASON } from '../domain/names.ts';
import type { Migration, Pod } from '../domain/objects.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';

/** How long feasibility waits for headroom: until a source pod has ended (overlap), or until a quota is recounted. */
const HEADROOM_WAIT_MS = { overlap: 8_000, recount: 1_000 } as const;

/** How long ago a success counts as recent, and how far virt-controller's clock may be ahead; milliseconds. */
const RECENT_MS = { ahead: 2_000, old: 10_000 } as const;

/**
 * How long an assessment may wait for headroom that no event announces, milliseconds; 0: not at all. Either a quota is being
 * recounted, or a migration has just succeeded and its source pod is about to end. Each wait occupies one of feasibility's
 * requests, so a tenant's old migrations and a namespace without a VMMRQ get none.
 */
export function headroomDueWithin(snapshot: NamespaceSnapshot, { verdicts, migrations }: Assessment): number {
  if (snapshot.vmmrqs.length === 0 || migrations.length > 0) return 0;
  const isShort = verdicts.some(
    ({ verdict, reason }) => verdict === 'NoFit' || reason === REASON.afterOthers,
  );
  const { pods } = snapshot;
  const recent = isShort ? snapshot.migrations.filter((each) => hasJustSucceeded(each, snapshot.now)) : [];
  const blocked = candidatesAmong(snapshot.migrations, pods);
  if (recent.some((migration) => overlaps(launchersOf(migration, pods), blocked)))
    return HEADROOM_WAIT_MS.overlap;
  const isUncounted = verdicts.some(({ reason }) => reason === REASON.statusUnknown);
  return recent.length > 0 || isUncounted ? HEADROOM_WAIT_MS.recount : 0;
}

function hasJustSucceeded(migration: Migration, now: number): boolean {
  if (migration.status?.phase !== 'Succeeded') return false;
  const age = now - Date.parse(enteredAt(migration) ?? '');
  return age >= -RECENT_MS.ahead && age <= RECENT_MS.old;
}

const launchersOf = ({ spec }: Migration, pods: readonly Pod[]): Pod[] =>
  pods.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ kind, name }) => kind === KIND.vmi.kind && name === spec.vmiName),
  );
