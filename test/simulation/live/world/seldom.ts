import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { FULL_VMIS, VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../../cluster/kubevirt/objects/types.ts';
import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';
import type { Hub } from './hub.ts';

export const OWNER = 'an owner starts the source VM again';
export const NAMESPACE = 'target namespace is deleted for good';

/** Milliseconds after the run has halted the VM: from a controller of its own to a tool that reconciles. */
const REACTS_AFTER = [10, 300, 4_000, 60_000];
const LAST_STEP = 200;
/** For so long a process stands still between two requests, milliseconds: others may end the run meanwhile. */
const STALLS = [300, 3_000, 30_000];
const STALL = 'a call stands still';
export const EDIT = 'source VM is edited';
export const VMI_DELETED = 'target VMI is deleted';
export const ENDLESS_DRAIN = 'a drain of the source does not end';
/** The VMI is not there, so KubeVirt moves nothing away from it and does not take the mark off. */
const OTHER_NODE = 'another-node';
const OVER = ['Succeeded', 'Failed'];
/** The label that it gets. */
export const EDIT_LABEL = 'tier';

export interface SeldomOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly onHit: (what: string) => void;
}

/** The run has halted the VM, or KubeVirt itself, whose guest has arrived. */
const isAtTheEnd = ({ strategyBy, vmi }: Clusters): boolean =>
  strategyBy === 'live' || (strategyBy === 'virt-controller' && vmi('target')?.status?.phase === 'Running');

/** What happens in some runs only, by numbers of its own: the other runs of a seed stay as they were. */
export class Seldom {
  readonly #options: SeldomOptions;
  readonly #reactsAfter: number;
  /** Turn of the run; undefined: never. */
  readonly #namespaceGoesAt: number | undefined;
  /** Turn of the run; undefined: never. */
  readonly #editedAt: number | undefined;
  /** Turn of the run; undefined: never. */
  readonly #vmiDeletedAt: number | undefined;
  /** Turn of the run; undefined: never. */
  readonly #drainedAt: number | undefined;
  readonly #random: Random;
  /** Before each request. */
  #stallRate: number;
  #isOwned: boolean;

  constructor(options: SeldomOptions) {
    const random = new Random(options.seed + 2 ** 40);
    this.#options = options;
    this.#isOwned = random.chance(0.2);
    this.#reactsAfter = random.pick(REACTS_AFTER);
    this.#namespaceGoesAt = random.chance(0.1) ? random.below(LAST_STEP) : undefined;
    this.#stallRate = random.pick([0, 0, 0, 0.01]);
    this.#random = random;
    // Of numbers of its own again.
    const edits = new Random(options.seed + 2 ** 48);
    this.#editedAt = edits.chance(0.2) ? edits.below(LAST_STEP) : undefined;
    const deletions = new Random(options.seed + 2 ** 50);
    this.#vmiDeletedAt = deletions.chance(0.1) ? deletions.below(LAST_STEP) : undefined;
    const drains = new Random(options.seed + 2 ** 49);
    this.#drainedAt = drains.chance(0.03) ? drains.below(LAST_STEP) : undefined;
    options.clusters.pair.stores.source.onChange(({ type, object }) => {
      if (type === 'MODIFIED' && object.kind === VMS.kind) this.#seen(object as Vm);
    });
  }

  /** How much longer the next request of a call takes to come, milliseconds. */
  stall(): number {
    if (!this.#random.chance(this.#stallRate)) return 0;
    this.#options.onHit(STALL);
    return this.#random.pick(STALLS);
  }

  step(turn: number): void {
    if (turn === this.#editedAt) this.#edit();
    if (turn === this.#vmiDeletedAt) this.#deleteVmi();
    if (turn === this.#drainedAt) this.#drain();
    if (turn !== this.#namespaceGoesAt) return;
    this.#options.hub.isNamespaceGoing = true;
    this.#options.onHit(NAMESPACE);
  }

  /** The owner has understood. A namespace that is stuck stays so. */
  calm(): void {
    this.#isOwned = false;
    this.#stallRate = 0;
  }

  #edit(): void {
    const { clusters, onHit } = this.#options;
    const vm = clusters.vm('source');
    if (vm === undefined) return;
    const labels = { ...vm.metadata.labels, [EDIT_LABEL]: 'true' };
    onHit(EDIT);
    clusters.try(
      clusters.replace('source', { ...vm, metadata: { ...vm.metadata, labels } }, 'kubectl').then(() => {
        clusters.editedAt = clusters.now;
      }),
    );
  }

  /** KubeVirt makes another one. While a migration is under way nobody has recorded what it does with the state of both. */
  #deleteVmi(): void {
    const { clusters, onHit } = this.#options;
    const vmi = clusters.vmi('target');
    const isMoving = clusters.vmims('target').some(({ status }) => !OVER.includes(status?.phase ?? ''));
    if (vmi === undefined || isMoving) return;
    const { namespace = '', name } = vmi.metadata;
    onHit(VMI_DELETED);
    clusters.try(clusters.pair.target.admin.delete(FULL_VMIS, { namespace, name }));
  }

  #drain(): void {
    const { clusters, onHit } = this.#options;
    const vmi = clusters.vmi('source');
    if (vmi === undefined) return;
    const { namespace = '', name } = vmi.metadata;
    onHit(ENDLESS_DRAIN);
    const merge = { status: { evacuationNodeName: OTHER_NODE } };
    clusters.try(clusters.pair.source.admin.patch(FULL_VMIS, { namespace, name }, { merge }));
  }

  #seen({ spec }: Vm): void {
    const { clusters } = this.#options;
    if (!this.#isOwned || spec.runStrategy !== 'Halted' || !isAtTheEnd(clusters)) return;
    clusters.pair.schedule.later('owner', this.#reactsAfter, () => this.#undo());
  }

  #undo(): void {
    const { clusters, onHit } = this.#options;
    const vm = clusters.vm('source');
    if (!this.#isOwned || vm?.spec.runStrategy !== 'Halted') return;
    const { running: _running, ...spec } = vm.spec;
    clusters.strategiesOfUser.push('Always');
    onHit(OWNER);
    const started = { ...vm, spec: { ...spec, runStrategy: 'Always' } } as KubernetesObject;
    clusters.try(clusters.replace('source', started, 'argocd'));
  }
}
