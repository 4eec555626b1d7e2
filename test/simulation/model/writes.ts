import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { DeleteOptions, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { Change } from '../../../webhook/admission/admission.ts';
import type { Admission } from './admission.ts';
import { deletionOf, type Deletion } from './deletion.ts';
import { isSame, kept } from './frozen.ts';
import { strategyOf } from './kinds.ts';
import { isFinalized, metadataOfNew, normalised, timestamp, withFormerMetadata } from './metadata.ts';
import type { ApiErrors } from './api-errors.ts';
import type { Phase, Subresource } from './request.ts';
import { revisionOf, type Key, type Store } from './store.ts';

export interface WritesParts {
  readonly user: string;
  readonly store: Store;
  readonly apiErrors: ApiErrors;
  readonly admission: Admission;
}

export interface WriteRequest extends Key {
  readonly type: ResourceType;
  readonly subresource: Subresource | undefined;
  readonly dryRun: boolean;
  readonly suspend: (phase: Phase) => Promise<void>;
}

/** The generic registry store (apiserver/pkg/registry/generic/registry/store.go), as far as our kinds use it. */
export class Writes {
  readonly #parts: WritesParts;

  constructor(parts: WritesParts) {
    this.#parts = parts;
  }

  /** The server detects a taken name last, after the quotas are charged. */
  async create<T extends KubernetesObject>(request: WriteRequest, given: T): Promise<T> {
    const { store, apiErrors } = this.#parts;
    await request.suspend('arrive');
    const object = this.#newObject(request, given);
    await this.#admit(request, { operation: 'CREATE', object, oldObject: null });
    if (request.dryRun) {
      if (store.get(request) !== undefined) throw apiErrors.alreadyExists(request);
      await request.suspend('answer');
      return object;
    }
    await request.suspend('commit');
    const stored = store.put(object, 0);
    if (stored === undefined) throw apiErrors.alreadyExists(request);
    await request.suspend('answer');
    return stored;
  }

  #newObject<T extends KubernetesObject>({ type, name }: WriteRequest, given: T): T {
    const { store } = this.#parts;
    const own = { name, uid: store.newUid(), creationTimestamp: timestamp(store.now()) };
    const { apiVersion, kind } = type;
    const object = { ...given, apiVersion, kind, metadata: metadataOfNew(given.metadata, own) };
    return kept(normalised(strategyOf(kind).created(object))) as T;
  }

  /**
   * PUT and PATCH: `next` makes the new object from the stored one. When another client writes during admission, the server
   * repeats everything with the new object; a PUT then has the wrong resourceVersion.
   */
  async update<T extends KubernetesObject>(request: WriteRequest, next: (former: T) => T): Promise<T> {
    const { store, apiErrors } = this.#parts;
    await request.suspend('arrive');
    for (;;) {
      const former = store.get<T>(request);
      if (former === undefined) throw apiErrors.notFound(request);
      const object = this.#nextObject(request, next(former), former);
      await this.#admit(request, { operation: 'UPDATE', object, oldObject: former });
      const stored = request.dryRun || isSame(object, former) ? object : await this.#commit(request, object);
      if (stored === undefined) continue;
      await request.suspend('answer');
      return stored;
    }
  }

  #nextObject<T extends KubernetesObject>(request: WriteRequest, wanted: T, former: T): T {
    const { apiErrors } = this.#parts;
    const { resourceVersion = '', uid = '' } = wanted.metadata as Partial<T['metadata']>;
    if (uid !== '' && uid !== former.metadata.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${former.metadata.uid}`;
      throw apiErrors.conflict(request, why);
    }
    const strategy = strategyOf(request.kind);
    if (resourceVersion === '' && strategy.isCustom) {
      throw apiErrors.invalid(
        request,
        'metadata.resourceVersion',
        'Invalid value: 0: must be specified for an update',
      );
    }
    if (resourceVersion !== '' && resourceVersion !== former.metadata.resourceVersion) {
      throw apiErrors.conflict(request);
    }
    const { apiVersion, kind } = request.type;
    const updated = strategy.updated({ ...wanted, apiVersion, kind }, former, request.subresource);
    return kept(normalised(withFormerMetadata(updated, former))) as T;
  }

  /** undefined: the object changed meanwhile. An object in deletion that loses its last finalizer is removed. */
  async #commit<T extends KubernetesObject>(request: WriteRequest, object: T): Promise<T | undefined> {
    await request.suspend('commit');
    const { store } = this.#parts;
    if (!isFinalized(object)) return store.put(object, revisionOf(object));
    return store.delete(request, revisionOf(object)) ? object : undefined;
  }

  async delete(request: WriteRequest, options: DeleteOptions): Promise<void> {
    const { store, apiErrors } = this.#parts;
    await request.suspend('arrive');
    for (;;) {
      const former = store.get(request);
      if (former === undefined) throw apiErrors.notFound(request);
      this.#checkPreconditions(request, former, options);
      const deletion = deletionOf(former, options.gracePeriodSeconds, store.now());
      if (deletion.kind === 'pending') break;
      await this.#admit(request, { operation: 'DELETE', object: null, oldObject: former });
      await request.suspend('commit');
      if (this.#delete(request, former, deletion)) break;
    }
    await request.suspend('answer');
  }

  #checkPreconditions(
    request: WriteRequest,
    { metadata }: KubernetesObject,
    { preconditions = {} }: DeleteOptions,
  ): void {
    for (const [what, asked, found, may] of [
      ['UID', preconditions.uid, metadata.uid, 'deleted and then recreated'],
      ['ResourceVersion', preconditions.resourceVersion, metadata.resourceVersion, 'modified'],
    ] as const) {
      if (asked === undefined || asked === found) continue;
      const why =
        `the ${what} in the precondition (${asked}) does not match the ${what} in record (${found}). ` +
        `The object might have been ${may}`;
      // The kind, and not the plural as elsewhere: like the real server.
      const type = { ...request.type, plural: request.type.kind };
      throw this.#parts.apiErrors.conflict({ type, name: request.name }, why);
    }
  }

  /** False: the object changed meanwhile. */
  #delete(
    request: WriteRequest,
    former: KubernetesObject,
    deletion: Exclude<Deletion, { kind: 'pending' }>,
  ): boolean {
    const { store } = this.#parts;
    const last = deletion.kind === 'marked' ? deletion.object : deletion.last;
    if (last === undefined || last === former) {
      return deletion.kind === 'marked' || store.delete(request, revisionOf(former));
    }
    if (store.put(last, revisionOf(former)) === undefined) return false;
    return deletion.kind === 'marked' || store.delete(request);
  }

  async #admit(request: WriteRequest, change: Change): Promise<void> {
    await request.suspend('admit');
    const { user, admission } = this.#parts;
    const { type, subresource, name, dryRun, suspend } = request;
    const namespace = type.kind === NAMESPACES.kind ? name : request.namespace;
    await admission.admit({ user, type, subresource, namespace, name, dryRun, suspend, ...change });
  }
}
