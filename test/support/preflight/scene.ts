import { KUBEVIRT, REASON } from '../../../functions/domain/names.ts';
import type { Amounts } from '../../../functions/domain/quota/charged.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import type { Rules } from '../../../functions/domain/snapshot.ts';
import { viewOf } from '../../../functions/domain/view/view-of.ts';
import type { ApiServer } from '../../../functions/kubernetes/cluster.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { CLUSTER_VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { ClusterFacts } from '../../../kubectl/preflight/facts.ts';
import { isGiveable, type OutcomeName, type VmOutcome } from '../../../kubectl/preflight/outcome.ts';
import { preflight, type Report } from '../../../kubectl/preflight/preflight.ts';
import { readFacts } from '../../../kubectl/preflight/read.ts';
import { suggest, type Manifest, type Suggestion } from '../../../kubectl/preflight/suggest.ts';
import type { Task } from '../../../kubectl/preflight/task.ts';
import { cordon, createNodes } from '../../cluster/kubevirt/objects/node-objects.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { releaseOf } from '../../cluster/kubevirt/objects/release.ts';
import type { Clusters } from '../fuzz/world.ts';
import type { PreflightCase, VmCase } from './cases.ts';
import { RealMigration, type Migrated, type Migrating } from './migrate.ts';
import { FIRST_RELEASE, type Renderer, type RunningVm } from './running-vm.ts';
import { FuzzTenant, mostOf, specOf } from './tenant.ts';

/** A VM, what preflight says of it, and what the API server did. */
export interface Checked {
  /** The sizes of the namespace's targets are estimated exactly, but for rounding; else they may be less than estimated. */
  readonly isExact: boolean;
  readonly said: VmOutcome;
  readonly did: Migrated;
  /** What quotas charge for the attachment pods of the VM: preflight names what its pods lack together. */
  readonly attached: Amounts;
  /** With the suggestion. */
  readonly later?: { readonly promised: VmOutcome; readonly did: Migrated };
}

const RULES: Rules = { kubevirtNamespace: 'kubevirt', lockSeconds: 15 };
const NODES = 3;

/** One random cluster on a real API server: what preflight says before, and what happens then. */
export class PreflightScene {
  readonly of: PreflightCase;
  readonly seed: number;
  readonly #clusters: Clusters & { readonly admin: ApiServer };
  #tenants: readonly FuzzTenant[] = [];
  #facts: ClusterFacts | undefined;
  #migrations = new Map<string, RealMigration>();
  report: Report | undefined;
  suggestion: Suggestion | undefined;
  readonly checked = new Map<string, Checked>();

  constructor(of: PreflightCase, seed: number, clusters: Clusters & { readonly admin: ApiServer }) {
    this.of = of;
    this.seed = seed;
    this.#clusters = clusters;
  }

  get task(): Task {
    const { task, upgrade } = this.of;
    if (task === 'node') return { kind: 'node', nodes: this.#nodes.slice(0, 2) };
    if (task === 'namespace') return { kind: 'namespace', namespace: this.#namespace(0) };
    return upgrade.isKnown ? { kind: 'upgrade', overhead: parseQuantity(upgrade.more) } : { kind: 'upgrade' };
  }

  async build(): Promise<void> {
    const { admin } = this.#clusters;
    await this.#configure();
    await createNodes(admin, this.#nodes);
    const [before, now] = [this.#renderer('before'), this.#renderer('now')];
    this.#tenants = await Promise.all(
      this.of.namespaces.map((of, index) =>
        FuzzTenant.start(
          { of, name: this.#namespace(index), nodes: this.#nodes, before, now },
          this.#clusters,
        ),
      ),
    );
    const { purposes, ...allowance } = this.of.clusterWide;
    const missing = mostOf(this.#tenants.map((tenant) => tenant.missing));
    const spec = specOf(allowance, missing);
    if (spec === undefined) return;
    const own = { ...spec, ...(purposes === undefined ? {} : { purposes: [...purposes] }) };
    await admin.create(CLUSTER_VMMRQS, {
      metadata: { name: `given-${String(this.seed)}` },
      spec: { ...own, namespaceSelector: {} },
    });
  }

  async decide(): Promise<void> {
    this.#facts = await readFacts({ reader: this.#clusters.admin, unseen: [] }, this.task);
    this.report = preflight(this.task, this.#facts);
    this.suggestion = suggest(this.report, this.#facts, 'cvmmrq');
  }

  /** First those that pass, beside each other; then each of the others, when those before it have finished. */
  async carryOut(): Promise<void> {
    await this.#begin();
    for (const said of this.#saidToBe('Passes')) await this.#migrate(said);
    for (const said of this.#saidToBe('Passes')) await this.#migrationOf(said).finish();
    for (const said of this.#saidToBe('PassesInTurn', 'Stuck')) {
      const did = await this.#migrate(said);
      if (did.isThrough) await this.#migrationOf(said).finish();
    }
  }

  /** The suggestion is created, and those that were stuck go: first those that have target pods, then the last one first. */
  async carryOutSuggestion(): Promise<void> {
    // Where the size of a launcher is not known exactly, one that was said to be stuck may have gone.
    const hasGone = (said: VmOutcome): boolean => this.checked.get(keyOf(said))?.did.isThrough === true;
    const stuck = this.#saidToBe('Stuck').filter((said) => !hasGone(said));
    for (const said of stuck) await this.#migrationOf(said).giveUp();
    for (const manifest of this.suggestion?.manifests ?? []) await this.#createManifest(manifest);
    const lacksAttachment = (said: VmOutcome): number =>
      Number(this.checked.get(keyOf(said))?.did.lacks === 'attachment');
    const order = stuck
      .filter(isGiveable)
      .toReversed()
      .toSorted((one, other) => lacksAttachment(other) - lacksAttachment(one));
    for (const said of order) await this.#migrateLater(said);
  }

  /** Why preflight cannot tell what happens to it, if so. */
  unknownOf(said: VmOutcome): VmCase['unknown'] {
    return this.#vm(said).of.unknown;
  }

  /** What other cases would see. */
  async clear(): Promise<void> {
    const { admin } = this.#clusters;
    for (const tenant of this.#tenants) {
      for (const vm of tenant.vms) await vm.remove();
      const { items } = await admin.list(FULL_MIGRATIONS, { namespace: tenant.name });
      for (const { metadata } of items) {
        const at = { namespace: tenant.name, name: metadata.name };
        await admin.patch(FULL_MIGRATIONS, at, { merge: { metadata: { finalizers: null } } });
        await admin.delete(FULL_MIGRATIONS, at);
      }
    }
    for (const { metadata } of (await admin.list(CLUSTER_VMMRQS, {})).items) {
      await admin.delete(CLUSTER_VMMRQS, { name: metadata.name });
    }
  }

  get #nodes(): string[] {
    return Array.from({ length: NODES }, (_, index) => `node-${String(this.seed)}-${String(index)}`);
  }

  #namespace(index: number): string {
    return `seed-${String(this.seed)}-${String(index)}`;
  }

  #renderer(when: 'before' | 'now'): Renderer {
    const { overheadRatio, isOld, task, upgrade } = this.of;
    const isNew = task === 'upgrade' && when === 'now';
    return {
      configuration: overheadRatio === undefined ? {} : { additionalGuestMemoryOverheadRatio: overheadRatio },
      isOld,
      release: isNew ? releaseOf('v1.10.0', { moreOverhead: upgrade.more }) : FIRST_RELEASE,
    };
  }

  async #configure(): Promise<void> {
    const { admin } = this.#clusters;
    const { limits, overheadRatio, isOld } = this.of;
    const at = { namespace: RULES.kubevirtNamespace, name: 'kubevirt' };
    if ((await ignoreNotFound(admin.get(FULL_KUBEVIRTS, at))) !== undefined)
      await admin.delete(FULL_KUBEVIRTS, at);
    const { object } = await admin.create(
      FULL_KUBEVIRTS,
      newKubeVirt({
        parallelMigrationsPerCluster: limits.cluster,
        parallelOutboundMigrationsPerNode: limits.node,
        workloadUpdateMethods: ['LiveMigrate'],
        ...(overheadRatio === undefined ? {} : { additionalGuestMemoryOverheadRatio: overheadRatio }),
      }),
    );
    const status = { observedKubeVirtVersion: isOld ? 'v1.4.1' : 'v1.9.0' };
    await admin.replace(FULL_KUBEVIRTS, { ...object, status }, { subresource: 'status' });
  }

  /** Not those that wait for a migration slot for ever: nothing counts slots here. */
  #saidToBe(...outcomes: readonly OutcomeName[]): VmOutcome[] {
    return (this.report?.vms ?? []).filter(
      ({ outcome, reason }) => outcomes.includes(outcome) && reason !== REASON.parallelLimit,
    );
  }

  /** The nodes are cordoned, or KubeVirt has another launcher. */
  async #begin(): Promise<void> {
    const { task } = this;
    if (task.kind === 'node') for (const node of task.nodes) await cordon(this.#clusters.admin, node);
    if (task.kind !== 'upgrade') return;
    for (const vm of this.#tenants.flatMap(({ vms }) => vms)) await vm.becomeOutdated();
  }

  async #createManifest({ spec, metadata: { name } }: Manifest): Promise<void> {
    if (!('namespaceSelector' in spec)) throw new Error('a cluster-wide one was asked for');
    await this.#clusters.admin.create(CLUSTER_VMMRQS, { metadata: { name }, spec });
  }

  async #migrateLater(said: VmOutcome): Promise<void> {
    const key = keyOf(said);
    const before = this.checked.get(key);
    const promised = this.suggestion?.report.vms.find((vm) => keyOf(vm) === key);
    const did = await this.#migrationOf(said).go();
    if (before !== undefined && promised !== undefined)
      this.checked.set(key, { ...before, later: { promised, did } });
    if (did.isThrough) await this.#migrationOf(said).finish();
  }

  async #migrate(said: VmOutcome): Promise<Migrated> {
    const did = await this.#migrationOf(said).go();
    const { attachment } = this.#vm(said);
    const attached = attachment === undefined ? new Map() : podUsage(attachment);
    this.checked.set(keyOf(said), { isExact: this.#isExact(said), said, did, attached });
    return did;
  }

  /**
   * Not with a margin for a new launcher, nor where a VM with a limit of its own got more memory: the estimate takes the limit to
   * have grown as much.
   */
  #isExact({ namespace }: VmOutcome): boolean {
    const { task, upgrade } = this.of;
    const isMargin = task === 'upgrade' && !upgrade.isKnown && upgrade.more !== '64Mi';
    const tenant = this.#tenants.find(({ name }) => name === namespace);
    return !isMargin && tenant?.vms.some(({ of }) => of.change === 'memory' && of.vm.limited) === false;
  }

  #migrationOf(said: VmOutcome): RealMigration {
    const key = keyOf(said);
    const known = this.#migrations.get(key);
    if (known !== undefined) return known;
    const made = new RealMigration(this.#vm(said), this.#migrating(said));
    this.#migrations.set(key, made);
    return made;
  }

  #vm({ namespace, name }: VmOutcome): RunningVm {
    const vm = this.#tenants
      .flatMap(({ vms }) => vms)
      .find((each) => each.namespace === namespace && each.name === name);
    if (vm === undefined) throw new Error(`no VM ${name}`);
    return vm;
  }

  #migrating({ namespace, node }: VmOutcome): Migrating {
    if (this.#facts === undefined) throw new Error('not decided yet');
    const annotations = {
      node: { [KUBEVIRT.evacuation]: node },
      upgrade: { [KUBEVIRT.workloadUpdate]: '' },
      namespace: {},
    }[this.of.task] as Record<string, string>;
    return {
      clusters: this.#clusters,
      by: this.#renderer('now'),
      annotations,
      rules: RULES,
      // The suggestion is not there yet.
      view: { ...viewOf(this.#facts.state, namespace), clusterWide: true },
    };
  }
}

export const keyOf = ({ namespace, name }: VmOutcome): string => `${namespace}/${name}`;
