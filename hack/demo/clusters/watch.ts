import type { PlanMigration } from '../../../functions/domain/live/forklift.ts';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType, Selection } from '../../../functions/kubernetes/cluster.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import { PLAN_MIGRATIONS } from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../../test/cluster/kubevirt/objects/objects.ts';
import type { Vm, Vmi, Vmim } from '../../../test/cluster/kubevirt/objects/types.ts';

/** Texts about an object, each by the name of its part; one is shown when it changes. */
type Texts = Readonly<Record<string, string | undefined>>;

interface Watch {
  readonly type: ResourceType;
  readonly textsOf: (object: KubernetesObject) => Texts;
}

const watch = <T extends KubernetesObject>(type: ResourceType<T>, textsOf: (object: T) => Texts): Watch => ({
  type,
  textsOf: (object) => textsOf(object as T),
});

const ofKubeVirt = [
  watch<Vm>(VMS, ({ metadata: { name }, spec, status }) => ({
    strategy: `VM ${name}: runStrategy ${spec.runStrategy ?? ''}`,
    status: status?.printableStatus && `VM ${name} is ${status.printableStatus}`,
  })),
  watch<Vmi>(FULL_VMIS, ({ metadata: { name }, status }) => ({
    phase: status?.phase && `VMI ${name} is ${status.phase}`,
  })),
  watch<Vmim>(FULL_MIGRATIONS, ({ spec, status }) => ({
    phase: `VMIM that ${spec.receive === undefined ? 'sends' : 'receives'}: ${status?.phase ?? 'created'}`,
  })),
];

const ofQuotas = watch<ResourceQuota>(RESOURCE_QUOTAS, ({ metadata: { name }, status }) => ({
  hard:
    status?.hard &&
    `ResourceQuota ${name}: ${Object.entries(status.hard)
      .map(([key, amount]) => `${key}=${amount}`)
      .join(' ')}`,
}));

const ofLocks = watch<Namespace>(NAMESPACES, ({ metadata }) => ({
  lock: metadata.annotations?.[ANNOTATION.lock] === undefined ? 'namespace unlocked' : 'namespace locked',
}));

const ofRuns = watch<PlanMigration>(PLAN_MIGRATIONS, ({ status }) => ({
  vms: status?.message && `Migration ${status.progress ?? ''} ${status.message}`,
}));

interface Place {
  readonly admin: Cluster;
  readonly namespace: string;
}

export type Watched = Readonly<Record<'hub' | 'source' | 'target', Place>>;

/** Prints the changes on the clusters, as they happen, until the caller asks for the result. */
export function showChanges(
  { hub, source, target }: Watched,
  say: (where: string, text: string) => void,
): () => Promise<void> {
  const over = new AbortController();
  const following = (
    where: string,
    { admin, namespace }: Place,
    watches: readonly Watch[],
  ): Promise<void>[] =>
    watches.map(({ type, textsOf }) => {
      const known = new Map<string, string>();
      const see = (object: KubernetesObject, isNew: boolean): void => {
        for (const [part, text] of Object.entries(textsOf(object))) {
          const key = `${object.metadata.uid} ${part}`;
          if (text === undefined || text === '' || known.get(key) === text) continue;
          known.set(key, text);
          if (isNew) say(where, text);
        }
      };
      return follow(
        admin,
        { type, where: selectionOf(type, namespace), signal: over.signal },
        {
          onList: (objects) => objects.forEach((object) => see(object, false)),
          onChange: (object) => see(object, true),
          onGone: ({ metadata }) => say(where, `${shortOf(type)} ${metadata.name} is gone`),
          onError: () => undefined,
        },
      );
    });
  const all = [
    ...following('hub', hub, [ofRuns]),
    ...following('source', source, ofKubeVirt),
    ...following('target', target, [...ofKubeVirt, ofQuotas, ofLocks]),
  ];
  return async () => {
    over.abort();
    await Promise.all(all);
  };
}

const selectionOf = ({ namespaced }: ResourceType, namespace: string): Selection =>
  namespaced ? { namespace } : { fieldSelector: `metadata.name=${namespace}` };

const shortOf = ({ kind }: ResourceType): string =>
  kind.replace('VirtualMachineInstanceMigration', 'VMIM').replace('VirtualMachineInstance', 'VMI');
