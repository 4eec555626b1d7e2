import { IMPORTER_POD } from '../../functions/live/on-target/filling.ts';
import type { DataVolume } from '../../functions/domain/live/kubevirt.ts';
import { LIVE_KIND, LIVE_KUBEVIRT } from '../../functions/domain/live/names.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { Condition, KubernetesObject, Pod } from '../../functions/domain/objects.ts';
import type { Cluster, New, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError, ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { DATA_VOLUMES, STORAGE_CLASSES, WHOLE_CLAIMS } from '../../functions/kubernetes/live-resources.ts';
import { parseQuantity } from '../../functions/domain/quantity.ts';
import { PODS } from '../../functions/kubernetes/resources.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { keyOf } from './kubevirt/client-go/cache.ts';
import { Queue, type Again } from './kubevirt/client-go/queue.ts';
import { serveAnything } from './served.ts';

const { apiVersion, kind } = LIVE_KIND.dataVolume;

/** After a quota's refusal; CDI's grows. */
const AGAIN = { afterMs: 200 };

/** CDI's controllers of one cluster. */
export interface Cdi {
  stop(): Promise<void>;
}

/** Of a StorageClass: CDI fills its volumes with populators also where they bind at their first consumer. */
export const POPULATED = { populators: 'true' };

/**
 * Fills blank DataVolumes as CDI does with populators (facts/cross-cluster.md D1, D2): a claim, then a second one and an importer
 * pod while it is filled; a refused one is tried again. With a class that binds at the first consumer it waits for that before. Where
 * the class is not POPULATED there is no second claim, and it waits until the claim itself is to be bound at once.
 */
export async function startCdi(admin: Cluster): Promise<Cdi> {
  await serveAnything(admin, DATA_VOLUMES);
  const over = new AbortController();
  const known = new Map<string, DataVolume>();
  const queue = new Queue({
    workers: 2,
    clock: systemClock,
    log: (line) => process.stdout.write(`CDI: ${line}\n`),
    work: async (key) => {
      const volume = known.get(key);
      return volume === undefined ? undefined : new Filling(admin, volume).run();
    },
  });
  const see = (volume: DataVolume): void => {
    known.set(keyOf(volume), volume);
    if (volume.metadata.deletionTimestamp === undefined) queue.add(keyOf(volume));
  };
  const following = follow(
    admin,
    { type: DATA_VOLUMES, where: {}, signal: over.signal },
    {
      onList: (volumes) => volumes.forEach(see),
      onChange: see,
      onGone: (volume) => void known.delete(keyOf(volume)),
      onError: () => undefined,
    },
  );
  return {
    stop: async () => {
      over.abort();
      await queue.stop();
      await following;
    },
  };
}

/** CDI's default of 6 % for file systems; the classes here have no StorageProfile with another mode. */
const withOverhead = (size: string): string =>
  String(Math.ceil(Number(parseQuantity(size) / parseQuantity('1')) / (1 - 0.06)));

/** By its storage class. */
interface FilledBy {
  readonly isLazy: boolean;
  readonly isPopulated: boolean;
}

/** One look at a DataVolume. */
class Filling {
  readonly #admin: Cluster;
  readonly #volume: DataVolume;
  readonly #prime: string;

  constructor(admin: Cluster, volume: DataVolume) {
    this.#admin = admin;
    this.#volume = volume;
    this.#prime = `prime-${volume.metadata.uid}`;
  }

  async run(): Promise<Again> {
    const { phase = '' } = this.#volume.status ?? {};
    if (phase === 'Succeeded') return undefined;
    try {
      return await this.#fill(phase);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 403) throw error;
      await this.#report('Pending', error.message);
      return AGAIN;
    }
  }

  async #fill(phase: string): Promise<Again> {
    const filledBy = await this.#class();
    await this.#claim(this.#name);
    if (phase !== 'ImportScheduled' && (await this.#waits(phase, filledBy))) return AGAIN;
    if (filledBy.isPopulated) await this.#claim(this.#prime);
    await this.#create(PODS, this.#importer());
    if (phase === 'ImportScheduled') await this.#finish(filledBy);
    else await this.#report('ImportScheduled');
    return undefined;
  }

  get #name(): string {
    return this.#volume.metadata.name;
  }

  #metadata(name: string): New<KubernetesObject>['metadata'] {
    const { namespace = '', uid } = this.#volume.metadata;
    const owner = { apiVersion, kind, name: this.#name, uid, controller: true };
    return { namespace, name, ownerReferences: [owner] };
  }

  #importer(): New<Pod> {
    const containers = IMPORTER_POD.spec.containers.map((container) => ({ ...container, image: 'importer' }));
    return { metadata: this.#metadata(`importer-${this.#prime}`), spec: { containers } };
  }

  async #class(): Promise<FilledBy> {
    const name = this.#volume.spec.storage.storageClassName;
    const { object } = await this.#admin.get(STORAGE_CLASSES, { name });
    const { volumeBindingMode, parameters } = object as {
      volumeBindingMode?: string;
      parameters?: typeof POPULATED;
    };
    const isLazy = volumeBindingMode === 'WaitForFirstConsumer';
    return { isLazy, isPopulated: !isLazy || parameters?.populators !== undefined };
  }

  /** Its first consumer is to come. */
  async #waits(phase: string, { isLazy, isPopulated }: FilledBy): Promise<boolean> {
    if (!isLazy || (await (isPopulated ? this.#isUsed() : this.#isBoundAtOnce()))) return false;
    const waiting = isPopulated ? 'PendingPopulation' : 'WaitForFirstConsumer';
    if (waiting !== phase) await this.#report(waiting);
    return true;
  }

  /** CDI looks at the claim only, which it gives the DataVolume's annotations when it makes it. */
  async #isBoundAtOnce(): Promise<boolean> {
    const { namespace = '' } = this.#volume.metadata;
    const { object } = await this.#admin.get(WHOLE_CLAIMS, { namespace, name: this.#name });
    return object.metadata.annotations?.[LIVE_KUBEVIRT.bindAtOnce] !== undefined;
  }

  /** The launcher is on a node; there is one VM in each namespace here. */
  async #isUsed(): Promise<boolean> {
    const { namespace = '' } = this.#volume.metadata;
    const labelSelector = `${KUBEVIRT.launcherLabel}=${KUBEVIRT.launcher}`;
    const { items } = await this.#admin.list(PODS, { namespace, labelSelector });
    return items.some(({ spec }) => spec.nodeName !== undefined);
  }

  #claim(name: string): Promise<void> {
    const { storageClassName, accessModes = ['ReadWriteOnce'], resources } = this.#volume.spec.storage;
    const asked = resources.requests['storage'] ?? '0';
    const spec = { storageClassName, accessModes, resources: { requests: { storage: withOverhead(asked) } } };
    return this.#create(WHOLE_CLAIMS, { metadata: this.#metadata(name), spec });
  }

  /** Asked for first: a quota refuses also what is there already. */
  async #create<T extends KubernetesObject>(type: ResourceType<T>, object: New<T>): Promise<void> {
    const { namespace = '', name = '' } = object.metadata;
    const known = await ignoreNotFound(this.#admin.get(type, { namespace, name }));
    if (known === undefined) await this.#admin.create(type, object);
  }

  async #finish({ isPopulated }: FilledBy): Promise<void> {
    const { namespace = '' } = this.#volume.metadata;
    const prime = { namespace, name: this.#prime };
    const status = { phase: 'Bound' };
    await this.#admin.patch(
      WHOLE_CLAIMS,
      { namespace, name: this.#name },
      { merge: { status }, subresource: 'status' },
    );
    await this.#admin.delete(PODS, { namespace, name: `importer-${this.#prime}` });
    if (isPopulated) {
      await this.#admin.patch(WHOLE_CLAIMS, prime, { merge: { metadata: { finalizers: null } } });
      await this.#admin.delete(WHOLE_CLAIMS, prime);
    }
    await this.#report('Succeeded');
  }

  async #report(phase: string, message = ''): Promise<void> {
    const { namespace = '', uid } = this.#volume.metadata;
    const isBound = phase === 'Succeeded';
    const bound: Condition = { type: 'Bound', status: isBound ? 'True' : 'False', message };
    const status = { phase, progress: isBound ? '100.0%' : 'N/A', conditions: [bound] };
    const merge = { metadata: { uid }, status };
    await this.#admin.patch(DATA_VOLUMES, { namespace, name: this.#name }, { merge, subresource: 'status' });
  }
}
