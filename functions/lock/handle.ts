import { assess } from '../domain/verdict/assessment.ts';
import type { OurEvent } from '../domain/events.ts';
import type { Wake } from '../eventing/wake.ts';
import { liveLock } from '../domain/lock.ts';
import { EVENT, REASON } from '../domain/names.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isConflict, isNotFound, isRefused, Unreachable, type ApiError } from '../kubernetes/errors.ts';
import { findIncumbent } from '../cluster/incumbent.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { orGone, readSnapshot } from '../cluster/snapshot.ts';
import { rulesOf, type Outcome, type Step, type Tools } from '../host/step.ts';
import { decide, goOn, type LockDecision, type Take } from './decide.ts';
import { alteration, type Rehearsed } from './rehearsal.ts';
import { reportLocked, reportRefused, type Refusal } from './report.ts';

/** How often a lost race is run again before the event is left to whoever won. */
const ROUNDS = 3;

/** Takes the namespace for the migrations that fit with a raise. */
export const lock: Step = {
  name: 'lock',
  wakesOn: [{ type: EVENT.migrationFeasible }],
  replies: [EVENT.namespaceLocked, EVENT.lockExpired, EVENT.sweepRequested],
  inTurn: true,
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const outcome = await attempt(wake, tools);
    if (outcome !== undefined) return outcome;
  }
  return { reason: REASON.lostRace, message: 'others kept writing: whoever won goes on' };
}

/** undefined: somebody else wrote meanwhile, or our write may have happened: read again. */
async function attempt(wake: Wake, tools: Tools): Promise<Outcome | undefined> {
  const { namespace: name } = wake;
  const known = await orGone(tools.cluster.get(NAMESPACES, { name }));
  if (known === undefined) return GONE;
  // One read is enough where somebody was first: a release's events come in twos and threes.
  const live = liveLock(known.object, known.date.getTime());
  if (live !== undefined) return answer(wake, goOn(live));
  const rules = rulesOf(tools.settings);
  const snapshot = await readSnapshot(tools.cluster, { name, rules, known });
  if (snapshot === undefined) return GONE;
  const decision = decide(snapshot, assess(snapshot, rules), {
    lockSeconds: rules.lockSeconds,
    // Another one in each round: the write of the last may have happened, and somebody have taken that lock off (I6).
    token: tools.newToken(),
  });
  if (decision.kind === 'take') return take(decision, snapshot, tools);
  return answer(wake, decision);
}

const GONE: Outcome = { reason: REASON.nothingBlocked, message: 'the namespace is gone' };

function answer({ namespace, id }: Wake, decision: Exclude<LockDecision, Take>): Outcome {
  const { kind, reason, message } = decision;
  switch (kind) {
    case 'leave':
      // Whoever waits for a place of KubeVirt's is told of one by what feasibility reports: it said that it goes on.
      return reason === REASON.parallelLimit
        ? { reason, message, reply: { type: EVENT.sweepRequested, from: 'lock', namespace, cause: id } }
        : { reason, message };
    case 'repair': {
      const token = decision.token === undefined ? { cause: reason } : { token: decision.token };
      return { reason, message, reply: { type: EVENT.lockExpired, from: 'lock', namespace, ...token } };
    }
    case 'goOn':
      return { reason, message, reply: lockedEvent(namespace, decision.lock) };
  }
}

const lockedEvent = (
  namespace: string,
  { token, migrations }: Pick<Take['lock'], 'token' | 'migrations'>,
): OurEvent => ({ type: EVENT.namespaceLocked, from: 'lock', namespace, token, migrations });

async function take(decision: Take, snapshot: NamespaceSnapshot, tools: Tools): Promise<Outcome | undefined> {
  const name = decision.namespace.metadata.name;
  try {
    const [incumbent, rehearsed] = await Promise.all([
      findIncumbent(tools.cluster, name),
      rehearse(decision, tools.cluster),
    ]);
    const obstacle =
      incumbent === undefined
        ? alteration(rehearsed)
        : { reason: REASON.incumbentPresent, message: incumbent };
    if (obstacle !== undefined) return refused(obstacle, decision, { snapshot, tools });
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    if (isRefused(error)) return refused(byPolicy(error), decision, { snapshot, tools });
    throw error;
  }
  try {
    await tools.cluster.replace(NAMESPACES, decision.namespace);
  } catch (error) {
    if (isConflict(error) || error instanceof Unreachable) return undefined;
    throw error;
  }
  tools.afterwards(() => reportLocked(decision, snapshot, tools));
  const { reason, message, lock: taken } = decision;
  return { reason, message, token: taken.token, reply: lockedEvent(name, taken) };
}

function rehearse({ rehearsals }: Take, cluster: Cluster): Promise<Rehearsed[]> {
  return Promise.all(
    rehearsals.map(async (asked) => {
      const { object: stored } = await cluster.replace(RESOURCE_QUOTAS, asked, { dryRun: true });
      return { asked, stored };
    }),
  );
}

const byPolicy = ({ status, reason }: ApiError): Refusal => ({
  reason: REASON.refusedByPolicy,
  message: `Unsupported: a write to a ResourceQuota would be refused: ${status.message ?? reason}`,
});

/** Somebody else stands in the way: nothing was locked, and the tenant is told who. */
function refused(
  refusal: Refusal,
  { lock: { migrations } }: Take,
  { snapshot, tools }: { readonly snapshot: NamespaceSnapshot; readonly tools: Tools },
): Outcome {
  tools.afterwards(() => reportRefused({ ...refusal, migrations }, snapshot, tools));
  return refusal;
}
