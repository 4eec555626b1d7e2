import type { PlanMigration } from '../../../functions/domain/live/forklift.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, PLANS, PROVIDERS, SECRETS } from '../../../functions/kubernetes/live-resources.ts';
import { getOrUndefined } from '../../../functions/live/read/get.ts';
import { askUntil } from '../eventually.ts';
import type { Crossing } from './crossing.ts';

/** What a user does to a run, on the hub. */
export interface StopOfRun {
  readonly name: string;
  readonly stop: (crossing: Crossing) => Promise<void>;
  /** What is to be gone in the end; left out: it is no deletion. */
  readonly deletes?: { readonly type: ResourceType; readonly object: string };
}

const deletion = (name: string, type: ResourceType, object: string): StopOfRun => ({
  name,
  deletes: { type, object },
  stop: ({ admin, migrationAt: { namespace } }) => admin.delete(type, { namespace, name: object }),
});

export const STOPS: readonly StopOfRun[] = [
  { name: 'cancel', stop: (crossing) => crossing.patchMigration({ spec: { cancel: [{ name: 'web' }] } }) },
  { name: 'archive', stop: (crossing) => crossing.patchPlan({ spec: { archived: true } }) },
  deletion('delete-migration', PLAN_MIGRATIONS, 'move-1'),
  deletion('delete-plan', PLANS, 'move'),
  deletion('delete-provider', PROVIDERS, 'target'),
  deletion('delete-secret', SECRETS, 'target'),
];

/** Sweeps until no object of the hub is held, and what was to go is gone. Resolves with the Migration; undefined: it went too. */
export async function untilReleased(
  crossing: Crossing,
  { deletes }: StopOfRun,
): Promise<PlanMigration | undefined> {
  await askUntil(
    'nothing is held',
    async () => {
      await crossing.resync();
      return crossing.finalizers();
    },
    (finalizers) => finalizers.length === 0,
  );
  const { admin, migrationAt } = crossing;
  if (deletes !== undefined) {
    const at = { namespace: migrationAt.namespace, name: deletes.object };
    await askUntil(
      `${deletes.type.kind} ${deletes.object} is gone`,
      async () => (await getOrUndefined(admin.get(deletes.type, at)))?.metadata.name,
      (name) => name === undefined,
    );
  }
  return getOrUndefined(admin.get(PLAN_MIGRATIONS, migrationAt));
}
