import { grantOf, type Grant } from '../domain/quota/grant.ts';
import { podIdentityOf, type Reference } from '../domain/lock.ts';
import { EVENT_REASON, KIND, LOCK_OUTCOME, REASON } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { describeAmountText } from '../domain/quantity.ts';
import { clusterWideName } from '../domain/vmmrq-name.ts';
import {
  involvedMigration,
  involvedVmmrq,
  type EventReport,
  type InvolvedObject,
} from '../domain/verdict/report.ts';
import { writeEvents } from '../cluster/report.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { StepContext } from '../host/step.ts';
import { grantShownBy, identitiesOf } from './decide-seen.ts';
import type { Lowering } from './write.ts';

/**
 * Writes one Event on each migration and one on each VMMRQ: the migrations, the quotas, the amounts and the duration, or why
 * the raise had no effect. `quotas`: as they were before they were lowered.
 */
export async function report(lowering: Lowering, namespace: string, context: StepContext): Promise<void> {
  const { task, reason, message } = lowering;
  const migrations = migrationsOf(lowering);
  const times = { now: lowering.now, clock: context.clock.now().getTime() };
  const raised = lowering.quotas.flatMap((quota) => describeRaise(quota, times) ?? []);
  const vmmrqs = await vmmrqsOf(lowering, namespace, context);
  // The migrations ended before anything was raised: no Event.
  if (raised.length === 0 && reason === REASON.ended) return;
  const key = task.token ?? reason;
  const quotas = raised.length === 0 ? 'nothing was raised' : raised.join('; ');
  const isSuccess = task.outcome === LOCK_OUTCOME.admitted || task.outcome === LOCK_OUTCOME.charged;
  const isWarning = !isSuccess && reason !== REASON.ended;
  const onMigrations = migrations.map((migration): EventReport => {
    const pod = podOf(migration, lowering);
    const on = involvedMigration(namespace, migration);
    // Also where another migration of the lock got none.
    if (pod !== undefined || isSuccess) {
      const of = pod === undefined ? message : `pod ${pod} of ${migration.name} exists`;
      return {
        on,
        type: 'Normal',
        reason: EVENT_REASON.migrationAdmitted,
        message: `${of}; ${quotas}`,
        because: REASON.admitted,
        key,
      };
    }
    return {
      on,
      type: isWarning ? 'Warning' : 'Normal',
      reason: isWarning ? EVENT_REASON.migrationBlocked : EVENT_REASON.quotaLowered,
      message: `${message}; ${quotas}`,
      because: reason,
      key,
    };
  });
  const names = migrations.map(({ name }) => name).join(', ');
  const onVmmrqs = vmmrqs.map((on): EventReport => ({
    on,
    type: isWarning ? 'Warning' : 'Normal',
    reason: raised.length === 0 ? EVENT_REASON.migrationBlocked : EVENT_REASON.quotaLowered,
    message: `for ${names === '' ? 'unknown migrations' : names}${placeOf(on, namespace)}: ${message}; ${quotas}`,
    because: reason,
    key,
  }));
  await writeEvents(context, [...onMigrations, ...onVmmrqs]);
}

/** A moment by the API server's Date, which has whole seconds, and by the process's clock. Milliseconds. */
interface Times {
  readonly now: number;
  readonly clock: number;
}

/** "ResourceQuota quota was raised for 98 ms (requests.cpu 1405m → 2605m) and restored"; undefined: it was only fenced. */
function describeRaise(quota: ResourceQuota, times: Times): string | undefined {
  const state = grantOf(quota);
  if (state.kind === 'none') return undefined;
  const { name } = quota.metadata;
  if (state.kind === 'malformed')
    return `ResourceQuota ${name} held a grant that cannot be read, and was restored`;
  const { raised } = state.grant;
  const keys = Object.entries(raised).map(
    ([key, to]) =>
      `${key} ${describeAmountText(key, quota.spec.hard?.[key] ?? '-')} → ${describeAmountText(key, to)}`,
  );
  const lasted = durationText(state.grant, times);
  return `ResourceQuota ${name} was raised for ${lasted} (${keys.join(', ')}) and restored`;
}

/** The clocks of two processes show milliseconds; they count where the API server's Dates do not contradict them. */
function durationText({ raisedAt, clockAt }: Grant, { now, clock }: Times): string {
  const ms = now - Date.parse(raisedAt);
  const closerMs = clock - Date.parse(clockAt);
  if (ms >= 2_000) return `${String(Math.round(ms / 1_000))} s`;
  const isLikely = closerMs >= 0 && Math.abs(closerMs - ms) <= 1_000;
  return isLikely ? `${String(closerMs)} ms` : `less than ${String(ms / 1_000 + 1)} s`;
}

const podOf = ({ uid }: Reference, { targets = [], quotas }: Lowering): string | undefined => {
  const identities = new Set(
    quotas.flatMap(identitiesOf).filter((identity) => identity.startsWith(`${uid}/`)),
  );
  return targets.find((pod) => identities.has(podIdentityOf(pod) ?? ''))?.metadata.name;
};

/** The lock's migrations; without a lock, those that the grants name. */
function migrationsOf({ task: { lock }, quotas }: Lowering): readonly Reference[] {
  if (lock !== undefined) return lock.migrations;
  return unique(quotas.flatMap((quota) => grantShownBy(quota)?.migrations ?? []));
}

const unique = (references: readonly Reference[]): readonly Reference[] => [
  ...new Map(references.map((each) => [each.uid, each])).values(),
];

/** The VMMRQs that the grants name; without a grant (nothing was raised, say), those of the namespace. */
async function vmmrqsOf(
  { quotas }: Lowering,
  namespace: string,
  { cluster }: StepContext,
): Promise<InvolvedObject[]> {
  const named = unique(quotas.flatMap((quota) => grantShownBy(quota)?.vmmrqs ?? []));
  if (named.length > 0) return named.map((reference) => involvedIn(namespace, reference));
  const { items } = await cluster.list(LISTED_VMMRQS, { namespace }, { resourceVersion: '0' });
  return items.map(involvedVmmrq);
}

/** A VMMRQ as a grant names it. */
const involvedIn = (namespace: string, { name, uid }: Reference): InvolvedObject => {
  const clusterWide = clusterWideName(name);
  return clusterWide === undefined
    ? { ...KIND.vmmrq, namespace, name, uid }
    : { ...KIND.clusterVmmrq, name: clusterWide, uid };
};

/** A cluster-wide VMMRQ gives to many namespaces. */
const placeOf = (on: InvolvedObject, namespace: string): string =>
  on.namespace === undefined ? ` in namespace ${namespace}` : '';
