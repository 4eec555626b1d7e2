import { describe, expect, test } from '@jest/globals';
import { aPlanMigration } from '../../../test/support/builders/live.ts';
import { metadata, NOW, seconds } from '../../../test/support/builders/object.ts';
import type { PlanMigration } from '../../domain/live/forklift.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, MergePatch, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { LIVE_WATCHER } from '../../kubernetes/live-resources.ts';
import { scaleUpWatcher } from './scale-up-watcher.ts';

const DATE = new Date(NOW);
const CONFLICT = new ApiError('the request', { code: 409, reason: 'Conflict' }, DATE);
const NOT_FOUND = new ApiError(
  'the request',
  { code: 404, reason: 'NotFound', details: { name: 'migration' } },
  DATE,
);
const running = aPlanMigration((one) => ({ ...one, status: { started: seconds(0) } }));
const ended: PlanMigration = { ...running, status: { started: seconds(0), completed: seconds(9) } };

/** The hub, with the watcher down. */
class Hub {
  replicas = 0;
  version = 1;
  migration: PlanMigration | undefined = running;
  readonly warnings: string[] = [];
  /** Changes by others between the last reading and the write, once. */
  meanwhile = (): void => undefined;

  scale(replicas: number): void {
    this.replicas = replicas;
    this.version += 1;
  }

  async start(): Promise<boolean> {
    const hub = { get: this.#get, patch: this.#patch } as unknown as Cluster;
    return scaleUpWatcher(running, { hub, log: (_level, message) => this.warnings.push(message) });
  }

  readonly #get = ({ kind }: ResourceType): Promise<unknown> => {
    const of = { ...metadata('watcher'), resourceVersion: String(this.version) };
    const deployment = { metadata: of, spec: { replicas: this.replicas } };
    const object = kind === LIVE_WATCHER.type.kind ? deployment : this.migration;
    return object === undefined ? Promise.reject(NOT_FOUND) : Promise.resolve({ object, date: DATE });
  };

  readonly #patch = (_type: ResourceType, _at: unknown, { merge }: MergePatch): Promise<unknown> => {
    const { meanwhile } = this;
    this.meanwhile = () => undefined;
    meanwhile();
    const { metadata: of, spec } = merge as unknown as KubernetesObject & { spec: { replicas: number } };
    if (of.resourceVersion !== String(this.version)) return Promise.reject(CONFLICT);
    this.scale(spec.replicas);
    return Promise.resolve({});
  };
}

describe('the watcher', () => {
  test('is scaled up for a run, once', async () => {
    const hub = new Hub();
    expect([await hub.start(), await hub.start()]).toEqual([true, false]);
    expect([hub.replicas, hub.version]).toEqual([1, 2]);
  });

  test.each<[string, PlanMigration | undefined]>([
    ['has ended', ended],
    ['is gone', undefined],
  ])('stays down where the run %s meanwhile', async (_what, migration) => {
    const hub = new Hub();
    hub.migration = migration;
    expect(await hub.start()).toBe(false);
    expect(hub.version).toBe(1);
  });

  test('stays down where another call has scaled it up, and the guard down after the run, before a late write', async () => {
    const hub = new Hub();
    hub.meanwhile = () => {
      hub.scale(1);
      hub.migration = ended;
      hub.scale(0);
    };
    expect(await hub.start()).toBe(false);
    expect(hub.replicas).toBe(0);
    expect(hub.warnings).toEqual([]);
  });

  test('is scaled up where only its status has changed', async () => {
    const hub = new Hub();
    hub.meanwhile = () => hub.scale(0);
    expect(await hub.start()).toBe(true);
    expect(hub.replicas).toBe(1);
  });

  test('is left to the next call where it changes again and again', async () => {
    const hub = new Hub();
    const change = (): void => {
      hub.scale(0);
      hub.meanwhile = change;
    };
    hub.meanwhile = change;
    expect(await hub.start()).toBe(false);
    expect(hub.warnings).toHaveLength(1);
  });
});
