import { problemsIn } from '../../domain/live/conditions.ts';
import type { PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { describeError, isForbidden, isUnauthorized } from '../../kubernetes/errors.ts';
import { isHost, providerFindings } from '../findings/providers.ts';
import type { PlanProviders } from '../read/plan-view.ts';
import { identifyCluster } from '../read/providers.ts';
import { breakGlassCommand } from '../run/break-glass.ts';
import { wait, type RunDecision } from '../run/decision.ts';
import { describeName } from '../run/describe.ts';

/** The step of a VM that has not begun. */
export const FIRST_STEP = 'Validate';

/** The decision to do nothing, on either side. The step in the status stays. */
const clusterUnknown = (message: string): RunDecision => ({
  ...wait(LIVE_REASON.clusterUnknown, message),
  step: FIRST_STEP,
});

const orGiveUp = (message: string, migration: PlanMigration): string =>
  `${message}. Only if a cluster is gone for good: ${breakGlassCommand(migration)}`;

const PROVIDER_GONE =
  'a provider is gone, or is not the one that the run began with: see the conditions of the Plan';

/** Returns the wait of a run to whose clusters no request is sent: a provider is gone, or something of it or its Secret is wrong. */
export function waitForProviders(
  { source, destination }: PlanProviders,
  migration: PlanMigration,
): RunDecision {
  if (source === undefined || destination === undefined)
    return clusterUnknown(orGiveUp(PROVIDER_GONE, migration));
  const problems = [source, destination].flatMap((found) =>
    problemsIn(providerFindings({ ...found, answer: { kind: 'ok' } })).map(
      (problem) => `Provider ${describeName(found.provider)}: ${problem}`,
    ),
  );
  const message = [...new Set(problems)].join(' ');
  const isGone = [source, destination].some(
    ({ provider, secret }) => !isHost(provider) && secret === undefined,
  );
  return clusterUnknown(isGone ? orGiveUp(message.replace(/\.$/, ''), migration) : message);
}

/** Returns the wait of a run whose annotation with the two clusters was removed. */
export const waitForClusterIds = (annotation: string, migration: PlanMigration): RunDecision =>
  clusterUnknown(
    orGiveUp(
      `the annotation ${annotation} of the Migration, which says the two clusters, was removed`,
      migration,
    ),
  );

/** Returns the wait after this error. A cluster that refuses the token, or a right, is there: its user mends that. */
export async function waitForAnswer(
  error: unknown,
  { migration, providers }: { readonly migration: PlanMigration; readonly providers: PlanProviders },
): Promise<RunDecision> {
  const message = `nothing is known, so nothing is done: ${describeError(error)}`;
  if (isForbidden(error))
    return clusterUnknown(`${message}. Give that account the roles that plans need (config/live-member)`);
  if (!isUnauthorized(error)) return clusterUnknown(orGiveUp(message, migration));
  const refused = await refusedTokens(providers);
  return clusterUnknown(
    refused.length === 0
      ? `${message}. Renew the token in the Secret of its Provider`
      : `nothing is known, so nothing is done: ${refused.join(', and ')}. The run goes on with the new one by itself`,
  );
}

/** Returns which clusters refuse their token, with what to do. */
async function refusedTokens({ source, destination }: PlanProviders): Promise<string[]> {
  const sides = Object.entries({ source, target: destination }).map(async ([side, found]) => {
    if (found?.cluster === undefined) return [];
    const { answer } = await identifyCluster(found.cluster);
    if (answer.kind !== 'unauthorized') return [];
    const { metadata, spec } = found.provider;
    const secret = `${metadata.namespace ?? ''}/${named(spec.secret ?? {}).name}`;
    return [`the ${side} refuses the token: renew the token in Secret ${secret}`];
  });
  return (await Promise.all(sides)).flat();
}
