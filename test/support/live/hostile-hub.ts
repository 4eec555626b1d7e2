import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { LIVE_LABEL } from '../../../functions/domain/live/names.ts';
import { REVIEWS } from '../../../functions/kubernetes/live-resources.ts';
import type { ApiServer, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import type { Remote } from '../../../functions/live/read/remote.ts';
import { aProvider } from '../builders/live.ts';
import { metadata } from '../builders/object.ts';

const keyOf = (kind: string, name: string): string => `${kind} ${name}`;

/** A hub that stores objects by kind and name, with what `live` asks of one that has Providers only. */
export class StoredHub {
  readonly #objects = new Map<string, KubernetesObject>();

  add(kind: string, object: KubernetesObject): void {
    this.#objects.set(keyOf(kind, object.metadata.name), object);
  }

  /** Adds a Provider of this name with its Secret. */
  addProvider(name: string, { url, token, ca = '' }: Remote): void {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const data = { url: base64(url), token: base64(token), 'ca.crt': base64(ca) };
    const secret = { metadata: { ...metadata(name), labels: { [LIVE_LABEL.provider]: 'true' } }, data };
    this.add(
      'Provider',
      aProvider(name, (one) => ({ ...one, spec: { ...one.spec, url } })),
    );
    this.add('Secret', secret);
  }

  get<T extends KubernetesObject>(kind: string, name: string): T | undefined {
    return this.#objects.get(keyOf(kind, name)) as T | undefined;
  }

  get cluster(): ApiServer {
    const date = new Date(0);
    return {
      get: ({ kind }: ResourceType, { name }: { readonly name: string }) => {
        const object = kind === REVIEWS.type.kind ? { metadata: metadata(name) } : this.get(kind, name);
        const status = { code: 404, reason: 'NotFound', details: { name } };
        return object === undefined
          ? Promise.reject(new ApiError('get', status, date))
          : Promise.resolve({ object, date });
      },
      // A SubjectAccessReview: every requester has every right.
      create: (_: ResourceType, object: KubernetesObject) =>
        Promise.resolve({ object: { ...object, status: { allowed: true } }, date }),
      list: () => Promise.resolve({ items: [], resourceVersion: '1', date }),
      replace: ({ kind }: ResourceType, object: KubernetesObject) => {
        this.add(kind, object);
        return Promise.resolve({ object, date });
      },
    } as unknown as ApiServer;
  }
}
