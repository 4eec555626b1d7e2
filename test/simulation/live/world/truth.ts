import type { TransferState } from '../../../cluster/kubevirt/decentralized/node-steps.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import type { LauncherPod, Vmi, Vmim } from '../../../cluster/kubevirt/objects/types.ts';
import type { LiveWrite } from '../../../../functions/live/run/decision.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { DATA_VOLUMES, type Clusters } from './clusters.ts';

const COPIED: readonly ResourceType[] = [DATA_VOLUMES, VMS];

/** Where the guest really is, whatever the objects say: by the launchers' processes, and by what libvirt knows of transfers. */
export class Truth {
  readonly #clusters: Clusters;
  /** KubeVirt has written on the target that the guest is there. */
  #isMarked = false;
  /** The VMIM of the target by which the guest has arrived. */
  #arrivedBy: string | undefined;
  /** Since when the VMI on the source says that its guest is in post-copy, milliseconds; Infinity: it has not said so. */
  splitSince = Infinity;
  /** Launchers whose guest has left. */
  readonly #left = new Set<string>();
  /** Launchers to which the guest has come within its cluster. */
  readonly #holding = new Set<string>();
  readonly #received = new Set<string>();
  /** The VMI on the source whose guest has left. */
  #leftVmi: string | undefined;
  /** VM and volumes of the target to which the guest has come: uids. What a late call makes after that is empty. */
  #copies: ReadonlySet<string> = new Set();

  constructor(clusters: Clusters) {
    this.#clusters = clusters;
    const { stores, transfers } = clusters.pair;
    stores.target.onChange(({ kind, type, object }) => {
      const isReceiving = kind === FULL_MIGRATIONS.kind && (object as Vmim).spec.receive !== undefined;
      if (isReceiving && type === 'ADDED') this.#received.add(object.metadata.uid);
      if (kind === FULL_VMIS.kind && isReady(object as Vmi)) this.#isMarked = true;
    });
    stores.source.onChange(({ kind, object }) => {
      const isSplit = kind === FULL_VMIS.kind && (object as Vmi).status?.migrationState?.mode === 'PostCopy';
      if (isSplit) this.splitSince = Math.min(this.splitSince, clusters.now);
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

  /** It was there once, by whatever KubeVirt has written. */
  get hasArrived(): boolean {
    return this.#arrivedBy !== undefined;
  }

  /** The guest is in post-copy: it runs on the target, and is lost where either side ends. */
  get isSplit(): boolean {
    return this.#isAny('post-copy');
  }

  /** It was lost in post-copy. KubeVirt cannot bring it back, on either side. */
  get isLost(): boolean {
    return this.#isAny('lost');
  }

  /** Whether the VM or the volume of the target is empty, though the guest has moved. */
  isEmpty({ kind, metadata }: LiveWrite['object']): boolean {
    return COPIED.some((type) => type.kind === kind) && !this.#copies.has(metadata.uid ?? '');
  }

  /** A guest of the VM runs in a launcher there. */
  runs(side: Side): boolean {
    return this.#clusters.pods(side).some((pod) => this.#hasGuest(side, pod));
  }

  #hasGuest(side: Side, { metadata, status }: LauncherPod): boolean {
    if (status?.phase !== 'Running' || this.#left.has(metadata.uid)) return false;
    const receives = metadata.labels?.['kubevirt.io/migrationJobUID'] ?? '';
    if (receives === '') return true;
    if (!this.#received.has(receives)) return this.#holds(side, metadata);
    const state = this.#clusters.pair.transfers.stateOf(receives);
    return state === 'done' || state === 'post-copy';
  }

  /** Whether the guest has come here by a migration within its cluster. The stand-in migrates also a VMI whose guest has left. */
  #holds(side: Side, { uid, name }: LauncherPod['metadata']): boolean {
    const vmi = this.#clusters.vmi(side);
    const isLeft = side === 'source' && (this.hasMoved || vmi?.metadata.uid === this.#leftVmi);
    if (hasCome(vmi, name) && !isLeft) this.#holding.add(uid);
    return this.#holding.has(uid);
  }

  #look(): void {
    if (this.#arrivedBy !== undefined) return;
    const { transfers } = this.#clusters.pair;
    this.#arrivedBy = [...this.#received].find((id) => transfers.stateOf(id) === 'done');
    if (this.#arrivedBy !== undefined) this.#copies = new Set(COPIED.flatMap((type) => this.#uids(type)));
    if (this.#leftVmi !== undefined || !(this.isSplit || this.#arrivedBy !== undefined)) return;
    this.#leftVmi = this.#clusters.vmi('source')?.metadata.uid;
    for (const { metadata } of this.#clusters.pods('source')) this.#left.add(metadata.uid);
  }

  #uids(type: ResourceType): string[] {
    return this.#clusters.all('target', type).map(({ metadata }) => metadata.uid);
  }

  #isAny(state: TransferState): boolean {
    return [...this.#received].some((id) => this.#clusters.pair.transfers.stateOf(id) === state);
  }
}

/** Whether a migration has brought the guest to this launcher. */
function hasCome(vmi: Vmi | undefined, pod: string): boolean {
  const { completed, failed, targetPod } = vmi?.status?.migrationState ?? {};
  return completed === true && failed !== true && targetPod === pod;
}

const isReady = ({ status }: Vmi): boolean =>
  status?.migrationState?.targetNodeDomainReadyTimestamp !== undefined;
