import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { strategyOf } from './kinds.ts';
import { isFinalized, timestamp, type StoredMeta } from './metadata.ts';

/** The effect of a DELETE on an object in its current state. */
export type Deletion =
  /** No effect and no admission: the object is already being deleted. */
  | { readonly kind: 'pending' }
  /** The object gets a deletionTimestamp and stays until its finalizers or the kubelet allow its removal. */
  | { readonly kind: 'marked'; readonly object: KubernetesObject }
  /** A pod gets a deletionTimestamp first, even when its removal follows at once. */
  | { readonly kind: 'gone'; readonly last?: KubernetesObject };

const GONE: Deletion = { kind: 'gone' };
const PENDING: Deletion = { kind: 'pending' };

/** registry/rest/delete.go and registry/core/namespace/storage. `asked`: gracePeriodSeconds of the request. */
export function deletionOf(object: KubernetesObject, asked: number | undefined, now: number): Deletion {
  if (object.kind === NAMESPACES.kind) return ofNamespace(object, now);
  const { gracePeriod } = strategyOf(object.kind ?? '');
  if (gracePeriod !== undefined) return ofGraceful(object, gracePeriod(object, asked), { asked, now });
  if ((object.metadata.finalizers ?? []).length === 0) return GONE;
  return { kind: 'marked', object: isMarked(object) ? object : marked(object, 0, now) };
}

function ofNamespace(object: Namespace, now: number): Deletion {
  if (isMarked(object)) return isFinalized(object) ? GONE : PENDING;
  const metadata = { ...object.metadata, deletionTimestamp: timestamp(now) };
  const status = { ...object.status, phase: 'Terminating' };
  return { kind: 'marked', object: { ...object, metadata, status } as Namespace };
}

interface Asked {
  readonly asked: number | undefined;
  readonly now: number;
}

function ofGraceful(object: KubernetesObject, seconds: number, { asked, now }: Asked): Deletion {
  const before = graceOf(object);
  // A deletion can only be made shorter.
  if (before > 0 && (asked ?? before) >= before) return PENDING;
  const last = isMarked(object) && before === 0 ? object : marked(object, seconds, now);
  const stays = seconds > 0 || (object.metadata.finalizers ?? []).length > 0;
  return stays ? { kind: 'marked', object: last } : { kind: 'gone', last };
}

const graceOf = ({ metadata }: { metadata: StoredMeta }): number => metadata.deletionGracePeriodSeconds ?? 0;

const isMarked = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp !== undefined;

function marked(object: KubernetesObject, seconds: number, now: number): KubernetesObject {
  const { generation } = object.metadata;
  const isFirst = !isMarked(object);
  const metadata: StoredMeta = {
    ...object.metadata,
    ...(generation === undefined ? {} : { generation: isFirst ? generation + 1 : generation }),
    deletionTimestamp: timestamp(now + seconds * 1_000),
    deletionGracePeriodSeconds: seconds,
  };
  return { ...object, metadata };
}
