import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { LABEL } from '../../../functions/domain/names.ts';
import type { Migration, ResourceQuota } from '../../../functions/domain/objects.ts';
import { isFinal } from '../../../functions/domain/migration.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import { MIGRATIONS, RESOURCE_QUOTAS, VMIS } from '../../../functions/kubernetes/resources.ts';

/** What a tenant sees of its own namespace through its own watches. */
export interface ObservedState {
  readonly namespace: string;
  /** Token of the current or last lock; before the first lock, a token of no lock. */
  readonly token: string;
  /** UID of the migration that waits or runs; if there is none, a UID of no object. */
  readonly migrationUid: string;
  readonly migration: string;
  /** UID of the namespace's VMI. */
  readonly vmiUid: string;
  readonly quotas: readonly ResourceQuota[];
  /** A quota says that it is raised. */
  readonly isRaised: boolean;
}

/** The UID of no object. */
const UNKNOWN_UID = '00000000-0000-4000-8000-000000000000';

/** Watches the namespace until `signal` aborts; resolves after the first lists. */
export async function watchOwnNamespace(
  cluster: Cluster,
  namespace: string,
  signal: AbortSignal,
): Promise<ObservedState> {
  const quotas = new Map<string, ResourceQuota>();
  const migrations = new Map<string, Migration>();
  let token = UNKNOWN_UID;
  const seeQuota = (quota: ResourceQuota): void => {
    quotas.set(quota.metadata.name, quota);
    const state = grantOf(quota);
    if (state.kind === 'held') token = state.grant.token;
  };
  const { promise: seen, resolve } = Promise.withResolvers<undefined>();
  let lists = 0;
  const listed = (): void => {
    lists += 1;
    if (lists === 2) resolve(undefined);
  };
  const onError = (): void => undefined;
  const where = { namespace };
  const [vmi] = (await cluster.list(VMIS, where)).items;
  void follow(
    cluster,
    { type: RESOURCE_QUOTAS, where, signal },
    {
      onList: (items) => {
        items.forEach(seeQuota);
        listed();
      },
      onChange: seeQuota,
      onGone: ({ metadata }) => quotas.delete(metadata.name),
      onError,
    },
  );
  void follow(
    cluster,
    { type: MIGRATIONS, where, signal },
    {
      onList: (items) => {
        for (const item of items) migrations.set(item.metadata.uid, item);
        listed();
      },
      onChange: (item) => migrations.set(item.metadata.uid, item),
      onGone: ({ metadata }) => migrations.delete(metadata.uid),
      onError,
    },
  );
  await seen;
  const waiting = (): Migration | undefined => [...migrations.values()].find((each) => !isFinal(each));
  return {
    namespace,
    get token() {
      return token;
    },
    get migrationUid() {
      return waiting()?.metadata.uid ?? UNKNOWN_UID;
    },
    get migration() {
      return waiting()?.metadata.name ?? 'nobody';
    },
    vmiUid: vmi?.metadata.uid ?? UNKNOWN_UID,
    get quotas() {
      return [...quotas.values()];
    },
    get isRaised() {
      return [...quotas.values()].some(({ metadata }) => metadata.labels?.[LABEL.raised] !== undefined);
    },
  };
}
