import { within } from '../runtime/clock.ts';
import type { OurEvent } from '../domain/events.ts';
import type { Wake } from '../eventing/wake.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { lockOf, migrationsOf } from '../domain/lock.ts';
import { gotThrough } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import { isRaiseEnforced } from '../domain/quota/restore.ts';
import { nudge } from '../cluster/nudge.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { orGone, orNothing, readMigrations, readTargets } from '../cluster/snapshot.ts';
import { watchQuota } from '../cluster/wait.ts';
import type { Outcome, Step, Tools } from '../host/step.ts';
import { decide, hasSleepers, isOver, type Lower, type LowerSnapshot } from './decide.ts';
import { isIdle } from './idle.ts';
import { report } from './report.ts';
import { restore } from './restore.ts';

const STILL_WAITING: Outcome = {
  reason: REASON.stillWaiting,
  message: 'the event itself shows that nothing is to be lowered for it',
};
/** How long the quota controller may take; the guard's lock.stalled says it where it takes longer. */
const ENFORCED_MS = 500;
const NOT_LOCKED: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked' };

/** Puts the quotas back once every migration of the lock is settled, or nothing came of it, or its time is over. */
export const lower: Step = {
  name: 'lower',
  wakesOn: [
    { type: SOURCE_EVENT.update, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.delete, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.update, kind: KIND.migration.kind },
    { type: SOURCE_EVENT.delete, kind: KIND.migration.kind },
    { type: EVENT.quotaRaised },
    { type: EVENT.lockStalled },
    { type: EVENT.lockExpired },
  ],
  idle: (wake) => (isIdle(wake) ? STILL_WAITING : undefined),
  replies: [EVENT.quotaLowered],
  inTurn: true,
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  let snapshot = await gather(wake, tools);
  if (snapshot !== undefined && wake.type === EVENT.quotaRaised && (await isEnforcedNow(snapshot, tools))) {
    snapshot = await gather(wake, tools);
  }
  if (snapshot === undefined) return NOT_LOCKED;
  const decision = decide(snapshot);
  const { kind, reason, message } = decision;
  switch (kind) {
    case 'leave':
    case 'wait':
      return { reason, message };
    case 'nudge':
      await nudge(tools.cluster, decision.migrations, decision.value);
      return { reason, message };
    case 'lower':
      return lowerAll(wake, { decision, snapshot }, tools);
  }
}

/**
 * Whether the raise was enforced while we looked. Only where somebody must be nudged then: KubeVirt takes a quota's event as
 * a sign for those that its condition calls refused, and ours for a quota that nothing more was charged to yet is idle.
 */
async function isEnforcedNow(snapshot: LowerSnapshot, { cluster, clock }: Tools): Promise<boolean> {
  const open = snapshot.quotas.filter((quota) => grantOf(quota).kind === 'held' && !isRaiseEnforced(quota));
  if (open.length === 0 || !hasSleepers(snapshot)) return false;
  await within(clock, ENFORCED_MS, (signal) =>
    Promise.all(open.map((quota) => watchQuota(cluster, quota, { until: isRaiseEnforced, signal }))),
  );
  return true;
}

/** undefined after the one read that shows there is nothing to do. */
async function gather(wake: Wake, { cluster, settings, log }: Tools): Promise<LowerSnapshot | undefined> {
  const name = wake.namespace;
  const read = await orGone(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  const state = lockOf(read.object);
  // A grant without a lock is looked for only when lock.expired says so: else every late event would cost a second read.
  if (state.kind === 'none' && wake.type !== EVENT.lockExpired) return undefined;
  const now = read.date.getTime();
  const { overdueToken } = wake;
  const isDue = isOver(state, { now, overdueToken });
  const waited = migrationsOf(state);
  const found = readTargets(cluster, name, waited);
  const [quotas, targets] = await Promise.all([
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    isDue ? orNothing(found, log) : found,
  ]);
  // Who has the pod is waited for no more, whatever else is said of it; and nobody is when the time is over.
  const isSettled = isDue || gotThrough(waited, targets.items);
  return {
    now,
    namespace: read.object,
    quotas: quotas.items,
    migrations: isSettled ? [] : await readMigrations(cluster, name),
    targets: targets.items,
    stallSeconds: settings.STALL_SECONDS,
    mayNudge: wake.type !== EVENT.lockExpired,
    overdueToken,
  };
}

interface Due {
  readonly decision: Lower;
  readonly snapshot: LowerSnapshot;
}

async function lowerAll(wake: Wake, { decision, snapshot }: Due, tools: Tools): Promise<Outcome> {
  const { lock, quotas, reason, message } = decision;
  const restored = await Promise.all(quotas.map((quota) => restore(tools, quota, lock)));
  const wrote = restored.some((result) => result.wrote);
  const edits = restored.flatMap(({ foreignEdits }) => foreignEdits);
  if (wrote) tools.afterwards(() => report({ decision, snapshot, edits }, tools));
  const about =
    lock === undefined ? {} : { token: lock.token, migrations: lock.migrations.map(({ name }) => name) };
  const isSaid = lockOf(snapshot.namespace).kind === 'none' || (!wrote && isEcho(wake));
  return { reason, message, ...about, ...(isSaid ? {} : { reply: loweredEvent(decision, snapshot) }) };
}

/**
 * Every write of ours to a quota comes back as an update. Whoever made the last write replies; where that reply is
 * lost, the quota's last event (its label is gone: a delete) says it again, and after that the watchdog.
 */
const isEcho = ({ type }: Wake): boolean => type === SOURCE_EVENT.update;

function loweredEvent({ lock, reason, message }: Lower, { namespace }: LowerSnapshot): OurEvent {
  const { name, resourceVersion } = namespace.metadata;
  const of = lock === undefined ? { cause: resourceVersion } : { token: lock.token };
  return { type: EVENT.quotaLowered, from: 'lower', namespace: name, reason, message, ...of };
}
