import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../cluster/kubevirt/objects.ts';
import type { LauncherPod, Vmi } from '../../cluster/kubevirt/types.ts';
import type { Clusters } from './clusters.ts';

/** Where the guest really is, whatever the objects say: by the launchers' processes, and by what libvirt knows of transfers. */
export class Truth {
  readonly #clusters: Clusters;
  /** KubeVirt has written on the target that the guest is there. */
  #isMarked = false;
  /** The VMIM of the target by which the guest has arrived. */
  #arrivedBy: string | undefined;
  /** Launchers whose guest has left. */
  readonly #left = new Set<string>();
  /** Launchers to which the guest has come within the source. */
  readonly #holding = new Set<string>();
  readonly #received = new Set<string>();

  constructor(clusters: Clusters) {
    this.#clusters = clusters;
    const { stores, transfers } = clusters.pair;
    stores.target.onChange(({ kind, type, object }) => {
      if (kind === FULL_MIGRATIONS.kind && type === 'ADDED') this.#received.add(object.metadata.uid);
      if (kind === FULL_VMIS.kind && isReady(object as Vmi)) this.#isMarked = true;
    });
    transfers.onChange(() => this.#look());
  }

  /**
   * The newest data is on the target. Not where its launcher died before KubeVirt wrote anything: nobody can know that the guest was
   * there for a moment, and the source's disks are as new.
   */
  get hasMoved(): boolean {
    return this.#arrivedBy !== undefined && (this.#isMarked || this.runs('target'));
  }

  /** A guest of the VM runs in a launcher there. */
  runs(side: Side): boolean {
    return this.#clusters.pods(side).some((pod) => this.#hasGuest(side, pod));
  }

  #hasGuest(side: Side, { metadata, status }: LauncherPod): boolean {
    if (status?.phase !== 'Running' || this.#left.has(metadata.uid)) return false;
    const receives = metadata.labels?.['kubevirt.io/migrationJobUID'] ?? '';
    if (receives === '') return true;
    if (side === 'source') return this.#holds(metadata);
    return !this.#received.has(receives) || this.#clusters.pair.transfers.stateOf(receives) === 'done';
  }

  /** Whether the guest has come here by a migration within its cluster. The stand-in migrates also a VMI whose guest has left. */
  #holds({ uid, name }: LauncherPod['metadata']): boolean {
    const { completed, failed, targetPod } = this.#clusters.vmi('source')?.status?.migrationState ?? {};
    if (completed === true && failed !== true && targetPod === name && !this.hasMoved) this.#holding.add(uid);
    return this.#holding.has(uid);
  }

  #look(): void {
    if (this.#arrivedBy !== undefined) return;
    const { transfers } = this.#clusters.pair;
    this.#arrivedBy = [...this.#received].find((id) => transfers.stateOf(id) === 'done');
    if (this.#arrivedBy === undefined) return;
    for (const { metadata } of this.#clusters.pods('source')) this.#left.add(metadata.uid);
  }
}

const isReady = ({ status }: Vmi): boolean =>
  status?.migrationState?.targetNodeDomainReadyTimestamp !== undefined;
