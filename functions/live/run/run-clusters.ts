import type { PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';

/** The clusters of a run by the uids of their namespaces kube-system, and the Providers that led to them. */
export interface RunClusters {
  readonly source: RunCluster;
  readonly target: RunCluster;
}

interface RunCluster {
  readonly cluster: string;
  readonly provider: RunProvider;
}

/**
 * A Provider as the run began with it. One that has begun to lead to the hub is another one: the user of the run was asked for no right on
 * what is there, and the cluster that it led to may have said anything of itself.
 */
export interface RunProvider {
  readonly uid: string;
  readonly isHub: boolean;
}

const HUB = '@hub';
const textOf = ({ uid, isHub }: RunProvider): string => `${uid}${isHub ? HUB : ''}`;
const providerIn = (text: string): RunProvider => ({
  uid: text.endsWith(HUB) ? text.slice(0, -HUB.length) : text,
  isHub: text.endsWith(HUB),
});

/**
 * Returns the annotations with the clusters of the run. If a Provider leads to another cluster later, all objects would seem gone; and the
 * Plan may name another Provider by then, which the user of the run may not use. Only `live` may write it (the guard's review).
 */
export const withRunClusters = (
  annotations: Readonly<Record<string, string>> | undefined,
  { source, target }: RunClusters,
): Record<string, string> => ({
  ...annotations,
  [LIVE_ANNOTATION.clusters]: [
    source.cluster,
    target.cluster,
    textOf(source.provider),
    textOf(target.provider),
  ].join(' '),
});

/** Returns the clusters of the run; undefined if the annotation is not there, or not whole. */
export function runClustersOf({ metadata }: Pick<PlanMigration, 'metadata'>): RunClusters | undefined {
  const parts = metadata.annotations?.[LIVE_ANNOTATION.clusters]?.split(' ') ?? [];
  const [from, to, source, target] = parts;
  if (!from || !to || !source || !target || parts.length !== 4) return undefined;
  return {
    source: { cluster: from, provider: providerIn(source) },
    target: { cluster: to, provider: providerIn(target) },
  };
}
