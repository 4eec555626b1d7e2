import { KUBEVIRT as NAMES } from '../../../functions/domain/names.ts';
import type { Migration, Pod } from '../../../functions/domain/objects.ts';
import { MIGRATIONS, PODS, VMIS } from '../../../functions/kubernetes/resources.ts';
import { pause, type Clock } from '../../../functions/runtime/clock.ts';
import type { Client } from './client.ts';
import type { Store } from '../model/store.ts';
import { TENANT, tenantPod } from './objects.ts';
import type { Random } from '../engine/random.ts';

export interface TenantParts {
  readonly cluster: Client;
  readonly clock: Clock;
  readonly store: Store;
  readonly random: Random;
  readonly name: string;
}

/** A tenant that uses all that the quota allows: it creates, resizes and deletes pods without end. */
export class Tenant {
  isOver = false;
  readonly #parts: TenantParts;
  #count = 0;

  constructor(parts: TenantParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { clock, random } = this.#parts;
    while (!this.isOver) {
      await this.#act().catch(() => undefined);
      await pause(clock, random.below(random.chance(0.1) ? 3_000 : 120));
    }
  }

  async #act(): Promise<void> {
    const { cluster, random } = this.#parts;
    const own = this.#own();
    const victim = own.length > 0 ? random.pick(own) : undefined;
    const chance = random.next();
    if (victim !== undefined && chance < 0.35) {
      await cluster.delete(
        PODS,
        { name: victim.metadata.name, namespace: TENANT },
        { gracePeriodSeconds: 0 },
      );
    } else if (victim !== undefined && chance < 0.5) await cluster.resize(larger(victim, random));
    else await this.#create(chance);
  }

  async #create(chance: number): Promise<void> {
    const { cluster, random, name } = this.#parts;
    this.#count += 1;
    const pod = tenantPod(`${name}-${String(this.#count)}`, random.pick(['50m', '50m', '100m', '800m']));
    // Sometimes the pod pretends to belong to a migration.
    const labels = chance > 0.9 ? { labels: this.#ofTarget() } : {};
    await cluster.create(PODS, { ...pod, metadata: { ...pod.metadata, ...labels } });
  }

  /** The labels and annotations of a migration's target pod. */
  #ofTarget(): Record<string, string> {
    const { store } = this.#parts;
    const [migration] = store.list<Migration>(MIGRATIONS.kind);
    const vmi = store.list(VMIS.kind).find(({ metadata }) => metadata.name === migration?.spec.vmiName);
    return {
      [NAMES.migrationJobUID]: migration?.metadata.uid ?? 'none',
      [NAMES.createdBy]: vmi?.metadata.uid ?? 'none',
    };
  }

  #own(): readonly Pod[] {
    const { store, name } = this.#parts;
    return store.list<Pod>(PODS.kind, TENANT).filter(({ metadata }) => metadata.name.startsWith(name));
  }
}

function larger(pod: Pod, random: Random): Pod {
  const requests = { cpu: random.chance(0.5) ? '300m' : '100m', memory: '64Mi' };
  return { ...pod, spec: { ...pod.spec, containers: [{ name: 'work', resources: { requests } }] } };
}
