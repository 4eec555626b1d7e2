import { CONDITION, METADATA, REFERENCE, withOwnFinalizer } from './listed-live.ts';
import { named, OBJECT } from '../../cluster/listed.ts';
import type {
  NamedReference,
  NetworkMap,
  Plan,
  PlanMigration,
  StorageMap,
} from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { hasEnded, hasFinalizer } from '../run/state.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { ListedType, ResourceType } from '../../kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, PLANS, PROVIDERS } from '../../kubernetes/live-resources.ts';
import { trimmed, type Keep } from '../../kubernetes/trim.ts';

/*
 * Lists of the whole cluster. Any tenant may make any number of these objects, each as long as a request, and the runs of all others need
 * the lists.
 */

const OPEN_MIGRATION: Keep<PlanMigration> = {
  ...OBJECT,
  metadata: {
    ...METADATA,
    creationTimestamp: true,
    annotations: {
      [LIVE_ANNOTATION.clusters]: true,
      [LIVE_ANNOTATION.over]: true,
      [LIVE_ANNOTATION.breakGlass]: true,
      // Last: it may be long.
      [LIVE_ANNOTATION.requester]: true,
    },
  },
  spec: { plan: REFERENCE, cancel: false },
  status: {
    started: true,
    completed: true,
    conditions: [CONDITION],
    vms: false,
    ...{ observedGeneration: false, leftovers: false, outbox: false, progress: false, message: false },
  },
};

/** Migrations that run or may still begin: their order and their needs. */
export const OPEN_MIGRATIONS: ListedType<PlanMigration> = {
  ...PLAN_MIGRATIONS,
  trim: (whole) => {
    if (hasEnded(whole)) return undefined;
    const annotations = withoutForeignTexts(whole.metadata);
    return trimmed(OPEN_MIGRATION, { ...whole, metadata: { ...withOwnFinalizer(whole), annotations } });
  },
};

/** Leaves out the annotations that count as the object's uid only, where a user gave them another text, such as one of 250 KiB. */
const withoutForeignTexts = ({
  annotations = {},
  uid,
}: KubernetesObject['metadata']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(annotations).filter(([key, text]) => !IS_UID.includes(key) || text === uid),
  );

const IS_UID: readonly string[] = [LIVE_ANNOTATION.over, LIVE_ANNOTATION.breakGlass];

export const HELD_PROVIDERS = named(PROVIDERS, hasFinalizer);

/** Plans for live migrations that name this Provider, map or hook. */
export const plansThatName = (at: Required<NamedReference>): ListedType<KubernetesObject> =>
  named(PLANS, (plan) => plan.spec.type === 'live' && refersTo(plan, at));

/** Maps of this kind that name this Provider. */
export const mapsThatName = (
  type: ResourceType<StorageMap> | ResourceType<NetworkMap>,
  at: Required<NamedReference>,
): ListedType<KubernetesObject> =>
  named<StorageMap | NetworkMap>({ ...type }, ({ spec, metadata }) => {
    const { provider } = spec as Partial<StorageMap['spec']>;
    return isAmong([provider?.source, provider?.destination], at, metadata);
  });

function refersTo({ spec, metadata }: Plan, at: Required<NamedReference>): boolean {
  const { provider, map, vms } = spec as Partial<Plan['spec']>;
  const references = [
    ...[provider?.source, provider?.destination, map?.network, map?.storage],
    ...(vms ?? []).flatMap(({ hooks = [] }) => hooks.map(({ hook }) => hook)),
  ];
  return isAmong(references, at, metadata);
}

const isAmong = (
  references: readonly (NamedReference | undefined)[],
  { namespace, name }: Required<NamedReference>,
  own: KubernetesObject['metadata'],
): boolean =>
  references.some(
    (one) => one !== undefined && one.name === name && (one.namespace || own.namespace) === namespace,
  );
