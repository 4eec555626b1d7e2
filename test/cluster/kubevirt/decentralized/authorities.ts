import { X509Certificate } from 'node:crypto';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../../functions/kubernetes/errors.ts';
import type { Clock } from '../../../../functions/runtime/clock.ts';
import { Cache, type Log } from '../client-go/cache.ts';
import { Queue } from '../client-go/queue.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export const CONFIG_MAPS: ResourceType<ConfigMap> = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};

/** The bundle that the cluster's KubeVirt trusts, and the one into which an admin writes another cluster's. */
export const TRUSTED = 'kubevirt-ca';
export const EXTERNAL = 'kubevirt-external-ca';
export const BUNDLE = 'ca-bundle';

export interface AuthorityOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  /** Of the KubeVirt CR. */
  readonly namespace: string;
  /** PEM of this cluster's own authority. */
  readonly own: string;
}

/**
 * virt-operator's part: both ConfigMaps. What is written into the external one is merged into the trusted one, and then taken out:
 * certificates that are known, not yet valid or expired are skipped without a word (facts/cross-cluster.md C3).
 */
export class Authorities {
  readonly #options: AuthorityOptions;
  readonly #cache: Cache<ConfigMap>;
  readonly #queue: Queue;

  constructor(options: AuthorityOptions) {
    this.#options = options;
    const { namespace } = options;
    this.#cache = new Cache({ ...options, type: CONFIG_MAPS, where: { namespace } });
    this.#queue = new Queue({ workers: 1, work: () => this.#merge(), ...options });
    this.#cache.onChange(({ object }) => {
      if (object.metadata.name === EXTERNAL) this.#queue.add(EXTERNAL);
    });
  }

  get cache(): Cache<ConfigMap> {
    return this.#cache;
  }

  /** PEM: what this cluster's components trust now. */
  get bundle(): string {
    return this.#read(TRUSTED);
  }

  /** Creates the ConfigMaps of a new installation. */
  async install(): Promise<void> {
    const { cluster, namespace, own } = this.#options;
    for (const [name, bundle] of [
      [TRUSTED, own],
      [EXTERNAL, ''],
    ] as const) {
      const configMap = { metadata: { namespace, name }, data: { [BUNDLE]: bundle } };
      await cluster.create(CONFIG_MAPS, configMap).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    }
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #merge(): Promise<undefined> {
    const external = this.#read(EXTERNAL);
    if (external === '') return;
    const known = certificatesIn(this.bundle);
    const now = this.#options.clock.now();
    const added = certificatesIn(external).filter((pem) => !known.includes(pem) && isValid(pem, now));
    if (added.length > 0) await this.#write(TRUSTED, [...known, ...added].join(''));
    await this.#write(EXTERNAL, '');
  }

  #read(name: string): string {
    return this.#cache.get(`${this.#options.namespace}/${name}`)?.data?.[BUNDLE] ?? '';
  }

  async #write(name: string, bundle: string): Promise<void> {
    const { cluster, namespace } = this.#options;
    const merge = { data: { [BUNDLE]: bundle } };
    this.#cache.put((await cluster.patch(CONFIG_MAPS, { namespace, name }, { merge })).object);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g;

const certificatesIn = (bundle: string): string[] =>
  (bundle.match(PEM) ?? []).map((pem) => `${pem.trim()}\n`);

function isValid(pem: string, now: Date): boolean {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return new Date(validFrom) <= now && now <= new Date(validTo);
  } catch {
    return false;
  }
}
