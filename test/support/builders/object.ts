import type { KubernetesObject, OwnerReference } from '../../../functions/domain/objects.ts';

/** A builder option: makes a new object from the previous one. */
export type Change<T> = (object: T) => T;

/** A change of metadata, for any kind. */
export type MetaChange = <T extends KubernetesObject>(object: T) => T;

/** The base with the changes made, in their order. */
export const build = <T>(base: T, changes: readonly Change<T>[]): T =>
  changes.reduce((object, change) => change(object), base);

/** The creation time of every built object: a whole second, as in Kubernetes. */
export const NOW = Date.parse('2026-11-21T05:00:00Z');

/** The time `n` seconds after NOW (before it, if negative), in the format of objects. */
export const seconds = (after: number): string => new Date(NOW + after * 1_000).toISOString();

const withMetadata =
  (of: (metadata: KubernetesObject['metadata']) => Partial<KubernetesObject['metadata']>): MetaChange =>
  (object) => ({ ...object, metadata: { ...object.metadata, ...of(object.metadata) } });

/** Another name, and with it another uid. */
export const named = (name: string): MetaChange => withMetadata(() => ({ name, uid: `uid-of-${name}` }));

export const ownedBy = (ownerReferences: OwnerReference[]): MetaChange =>
  withMetadata(() => ({ ownerReferences }));

export const withUid = (uid: string): MetaChange => withMetadata(() => ({ uid }));

export const inNamespace = (namespace: string): MetaChange => withMetadata(() => ({ namespace }));

export const atVersion = (resourceVersion: string): MetaChange => withMetadata(() => ({ resourceVersion }));

export const annotated = (key: string, text: string): MetaChange =>
  withMetadata(({ annotations }) => ({ annotations: { ...annotations, [key]: text } }));

export const labelled = (key: string, text = 'true'): MetaChange =>
  withMetadata(({ labels }) => ({ labels: { ...labels, [key]: text } }));

export const unlabelled = (key: string): MetaChange =>
  withMetadata(({ labels: { [key]: _, ...labels } = {} }) => ({ labels }));

export const withFinalizer = (finalizer: string): MetaChange =>
  withMetadata(() => ({ finalizers: [finalizer] }));

/** Created this many seconds after NOW. */
export const createdAt = (after: number): MetaChange =>
  withMetadata(() => ({ creationTimestamp: seconds(after).replace('.000Z', 'Z') }));

/** In deletion since this many seconds after NOW, with a finalizer left. */
export const beingDeleted = (after = 0): MetaChange =>
  withMetadata(() => ({ deletionTimestamp: seconds(after) }));

/** The API server's metadata of a new object in the tenant's namespace. */
export const metadata = (name: string): KubernetesObject['metadata'] => ({
  name,
  namespace: 'tenant',
  uid: `uid-of-${name}`,
  resourceVersion: '100',
  creationTimestamp: seconds(-3600).replace('.000Z', 'Z'),
});
