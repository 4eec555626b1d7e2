import { isConflict, isNotFound } from '../../../../functions/kubernetes/errors.ts';
import { keyOf } from '../client-go/cache.ts';
import { isFinal } from '../migration-controller/phases.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../objects/objects.ts';
import { Queue } from '../client-go/queue.ts';
import { toTime } from '../client-go/times.ts';
import type { Vmi, Vmim, VmiStatus } from '../objects/types.ts';
import { addressOf, type World } from '../world.ts';
import {
  RpcError,
  unknownError,
  type Peer,
  type SynchronizationNetwork,
  type Synchronize,
} from './network.ts';
import { fromSource, fromTarget } from './relay.ts';
import { migrationIdOf, sideOf, type Side } from './sides.ts';
import {
  conditionsWith,
  currentMigrationOf,
  finalizersOf,
  fromSourceSide,
  fromTargetSide,
  isAccepted,
  WAITING,
  type Outgoing,
} from './synchronization.ts';

const WORKERS = 5;
const REJECTED = 'the server rejected our request due to an error in our request';

/**
 * KubeVirt's synchronization controller of one cluster: it tells the other cluster's what the VMI of each migration says, and writes
 * what it hears into the VMI.
 */
export class SynchronizationController implements Synchronize {
  readonly #world: World;
  readonly #network: SynchronizationNetwork;
  readonly #self: Peer;
  readonly #queue: Queue;
  readonly #stopListening: () => void;
  /** Address by migration id, of the migrations that it is the source or the target of. It does not follow a new address. */
  readonly #connections: Readonly<Record<Side, Map<string, string>>> = {
    source: new Map<string, string>(),
    target: new Map<string, string>(),
  };

  constructor(world: World, network: SynchronizationNetwork, self: Peer) {
    this.#world = world;
    this.#network = network;
    this.#self = self;
    this.#queue = new Queue({ workers: WORKERS, work: (key) => this.#reconcile(key), ...world });
    this.#stopListening = network.listen(self, this);
    world.vmis.onChange(({ object }) => this.#queue.add(keyOf(object)));
    world.migrations.onChange(({ type, object }) => {
      const side = sideOf(object);
      if (side === undefined) return;
      if (type === 'deleted') this.#connections[side].delete(migrationIdOf(object));
      this.#queue.add(vmiKeyOf(object));
    });
  }

  /** After a start it writes its address into the VMI of each migration under way, on its own side, and looks at every VMI. */
  async resume(): Promise<void> {
    for (const migration of this.#world.migrations.all()) {
      const vmi = this.#world.vmis.get(vmiKeyOf(migration));
      const side = sideOf(migration);
      if (vmi === undefined || side === undefined || isFinal(migration)) continue;
      const { address } = this.#self;
      const isKnown = outgoingOf(side, vmi, address) !== undefined;
      const state = side === 'source' ? 'sourceState' : 'targetState';
      if (isKnown)
        await this.#patch(vmi, { status: { migrationState: { [state]: { syncAddress: address } } } });
    }
    for (const vmi of this.#world.vmis.all()) this.#queue.add(keyOf(vmi));
  }

  async stop(): Promise<void> {
    this.#stopListening();
    await this.#queue.stop();
  }

  syncSource(migrationID: string, status: VmiStatus): Promise<void> {
    return this.#hear({ side: 'target', migrationID, who: 'source' }, (own) => fromSource(own, status));
  }

  syncTarget(migrationID: string, status: VmiStatus): Promise<void> {
    return this.#hear({ side: 'source', migrationID, who: 'target' }, (own) => fromTarget(own, status));
  }

  async cancel(migrationUid: string): Promise<void> {
    const migration = this.#world.migrations.all().find(({ metadata }) => metadata.uid === migrationUid);
    if (migration !== undefined) await this.#world.cluster.delete(FULL_MIGRATIONS, addressOf(migration));
  }

  async #hear(
    { side, migrationID, who }: { readonly side: Side; readonly migrationID: string; readonly who: Side },
    change: (own: VmiStatus | undefined) => object | undefined,
  ): Promise<void> {
    const migration = this.#world.migrations
      .all()
      .find((one) => sideOf(one) === side && migrationIdOf(one) === migrationID);
    const missing = `${who}: unable to locate VMI for migrationID ${migrationID}`;
    if (migration === undefined) throw unknownError(missing);
    const vmi = this.#world.vmis.get(vmiKeyOf(migration));
    if (vmi === undefined) throw unknownError(`${missing}, vmi: ${vmiKeyOf(migration)}`);
    const merge = isAccepted(migration, vmi) ? change(vmi.status) : undefined;
    if (merge === undefined) return;
    await this.#patchVersion(vmi, merge).catch((error: unknown) => {
      throw isConflict(error) ? unknownError(REJECTED) : error;
    });
  }

  async #reconcile(key: string): Promise<undefined> {
    const { migrations, vmis } = this.#world;
    const own = migrations.all().filter((migration) => vmiKeyOf(migration) === key);
    const vmi = vmis.get(key);
    if (vmi === undefined) return;
    const migration = currentMigrationOf(vmi, own);
    if (migration === undefined) {
      await this.#report(vmi, undefined);
      return;
    }
    await this.#hold(migration);
    await this.#relay(vmi, migration);
  }

  /**
   * Adds or removes the finalizer of the VMIM that the VMI's state names. Nothing removes that of a VMIM whose VMI is gone, or replaced by
   * another one (recorded: cross-rerunonfailure-source-fails).
   */
  async #hold(migration: Vmim): Promise<void> {
    const finalizers = finalizersOf(migration);
    if (finalizers === undefined) return;
    const { cluster, migrations } = this.#world;
    const { resourceVersion } = migration.metadata;
    const merge = { metadata: { resourceVersion, finalizers } };
    migrations.put((await cluster.patch(FULL_MIGRATIONS, addressOf(migration), { merge })).object);
  }

  /** The failure is shown on the VMI, and the call repeated with a growing delay. */
  async #relay(vmi: Vmi, migration: Vmim): Promise<void> {
    const isTarget = sideOf(migration) === 'target';
    const isDeleted = migration.metadata.deletionTimestamp !== undefined;
    // A target that is deleted tells nothing more.
    if (isTarget && isDeleted) return this.#cancelPeer(vmi, migration);
    try {
      await this.#send(vmi, migration);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      await this.#report(vmi, error.message);
      throw error;
    }
    const waits = isTarget && migration.status?.phase === 'WaitingForSync';
    await this.#report(vmi, waits ? WAITING : undefined);
    if (isDeleted) await this.#cancelPeer(vmi, migration);
  }

  async #send(vmi: Vmi, migration: Vmim): Promise<void> {
    const side = sideOf(migration) ?? 'source';
    const id = migrationIdOf(migration);
    const outgoing = outgoingOf(side, vmi, this.#self.address);
    if (outgoing === undefined) return;
    const { status, to } = outgoing;
    const connections = this.#connections[side];
    if (!connections.has(id)) connections.set(id, to);
    await this.#network.call(this.#self, connections.get(id) ?? to, (peer) =>
      side === 'source' ? peer.syncSource(id, status) : peer.syncTarget(id, status),
    );
    if (isFinal(migration)) connections.delete(id);
  }

  /**
   * Deletes the other side's VMIM too. KubeVirt looks for the connection of the other role, which it has only where both sides are in
   * one cluster: across clusters nothing happens (C6).
   */
  async #cancelPeer(vmi: Vmi, migration: Vmim): Promise<void> {
    const { sourceState, targetState } = vmi.status?.migrationState ?? {};
    const isTarget = sideOf(migration) === 'target';
    const uid = (isTarget ? sourceState : targetState)?.migrationUID ?? '';
    const to = this.#connections[isTarget ? 'source' : 'target'].get(migrationIdOf(migration));
    if (uid === '' || to === undefined) return;
    await this.#network.call(this.#self, to, (peer) => peer.cancel(uid));
  }

  async #report(vmi: Vmi, message: string | undefined): Promise<void> {
    // What was sent before may have changed it.
    const newest = this.#world.vmis.get(keyOf(vmi)) ?? vmi;
    const conditions = conditionsWith(newest, message, toTime(this.#world.clock.now()));
    if (conditions !== undefined) await this.#patchVersion(newest, { status: { conditions } });
  }

  /** Conflicts with any other version: the change holds for this one. */
  #patchVersion(vmi: Vmi, change: object): Promise<void> {
    return this.#patch(vmi, { metadata: { resourceVersion: vmi.metadata.resourceVersion }, ...change });
  }

  async #patch(vmi: Vmi, merge: Record<string, unknown>): Promise<void> {
    const { cluster, vmis } = this.#world;
    try {
      vmis.put((await cluster.patch(FULL_VMIS, addressOf(vmi), { merge })).object);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const vmiKeyOf = ({ metadata, spec }: Vmim): string => `${metadata.namespace ?? ''}/${spec.vmiName ?? ''}`;

const outgoingOf = (side: Side, vmi: Vmi, address: string): Outgoing | undefined =>
  side === 'source' ? fromSourceSide(vmi, address) : fromTargetSide(vmi, address);
