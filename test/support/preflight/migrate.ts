import { KUBEVIRT, REASON } from '../../../functions/domain/names.ts';
import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import { loweredQuota } from '../../../functions/domain/quota/lower.ts';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
import { assess, type Assessment } from '../../../functions/domain/verdict/assessment.ts';
import type { Rules } from '../../../functions/domain/snapshot.ts';
import type { View } from '../../../functions/domain/view.ts';
import { vmmrqName } from '../../../functions/domain/vmmrq-name.ts';
import { readSnapshot } from '../../../functions/cluster/snapshot.ts';
import { isConflict } from '../../../functions/kubernetes/errors.ts';
import { CLAIMS, EVENTS, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vmim } from '../../cluster/kubevirt/objects/types.ts';
import type { Clusters } from '../fuzz/world.ts';
import { untilCounted } from './counted.ts';
import { createOrRefusal, isRefusal, type Refusal } from './refusal.ts';
import { running, type Renderer, type RunningVm } from './running-vm.ts';

/** What the API server did with one migration. */
export interface Migrated {
  readonly isThrough: boolean;
  /** The VMMRQs by which quotas were raised for it. */
  readonly by: readonly string[];
  /** Of the pod or claim that it lacks. */
  readonly refusal?: Refusal;
  readonly lacks?: 'claim' | 'launcher' | 'attachment';
  /** What the functions decided about it: "NoFit NotEnough". */
  readonly decided?: string;
}

export interface Migrating {
  readonly clusters: Clusters;
  readonly by: Renderer;
  /** What KubeVirt or a user writes on the migration. */
  readonly annotations: Record<string, string>;
  readonly rules: Rules;
  readonly view: View;
}

/** Of the one lock that there is at a time. */
const TOKEN = 'preflight';

/** Migrates VMs as virt-controller does, and raises quotas as the functions decide and in the same order of writes. */
export class RealMigration {
  readonly #vm: RunningVm;
  readonly #of: Migrating;
  readonly #by = new Set<string>();
  #migration: Vmim | undefined;
  #claim: PersistentVolumeClaim | undefined;
  #target: Pod | undefined;
  #count = 0;

  constructor(vm: RunningVm, of: Migrating) {
    this.#vm = vm;
    this.#of = of;
  }

  /** Goes as far as it gets; may be called again. */
  async go(of: Migrating = this.#of): Promise<Migrated> {
    const { virtController, admin } = of.clusters;
    const migration = (this.#migration ??= await this.#create(of));
    const { namespace } = this.#vm;
    const claim = this.#claim === undefined ? this.#vm.targetClaim(migration) : undefined;
    if (claim !== undefined) {
      const made = await createOrRefusal(admin, namespace, () => admin.create(CLAIMS, claim));
      if (isRefusal(made)) return { isThrough: false, by: [], refusal: made, lacks: 'claim' };
      this.#claim = made.object;
    }
    if (this.#target === undefined) {
      const quotas = (await admin.list(RESOURCE_QUOTAS, { namespace })).items;
      const pod = this.#vm.target(migration, quotas, of.by);
      const made = await this.#admit(of, 'launcher', () => virtController.create(PODS, pod));
      if (!('metadata' in made)) return made;
      this.#target = made;
      await running(of.clusters, made);
    }
    if (this.#vm.of.hotplug) {
      const pod = this.#vm.targetAttachment(this.#target, migration);
      const made = await this.#admit(of, 'attachment', () => virtController.create(PODS, pod));
      if (!('metadata' in made)) return made;
      await running(of.clusters, made);
    }
    await this.#phase('Running');
    return { isThrough: true, by: [...this.#by] };
  }

  /** Its source has ended. */
  async finish(): Promise<void> {
    if (this.#target === undefined) return;
    await this.#phase('Succeeded');
    await this.#vm.end(this.#target, this.#claim);
    await untilCounted(this.#of.clusters.admin, this.#vm.namespace);
  }

  /** It is cancelled, so that another migration of the VM may come; one that has its target pod goes on waiting. */
  async giveUp(): Promise<void> {
    if (this.#target !== undefined) return;
    await this.#phase('Failed');
    this.#migration = undefined;
    if (this.#claim === undefined) return;
    const at = { namespace: this.#vm.namespace, name: this.#claim.metadata.name };
    await this.#of.clusters.admin.patch(CLAIMS, at, { merge: { metadata: { finalizers: null } } });
    await this.#of.clusters.admin.delete(CLAIMS, at);
    this.#claim = undefined;
  }

  async #create({ clusters: { admin }, annotations }: Migrating): Promise<Vmim> {
    const { namespace, name } = this.#vm;
    this.#count += 1;
    const priority = Object.keys(annotations).length === 0 ? {} : { priority: 'system-critical' };
    const { object } = await admin.create(
      FULL_MIGRATIONS,
      newMigration({
        namespace,
        name: `mig-${name}-${String(this.#count)}`,
        vmi: name,
        annotations,
        ...priority,
      }),
    );
    const conditions = [{ type: KUBEVIRT.rejectedByQuota, status: 'True' as const }];
    const status = { phase: 'Pending', conditions };
    return (await admin.replace(FULL_MIGRATIONS, { ...object, status }, { subresource: 'status' })).object;
  }

  async #phase(phase: string): Promise<void> {
    if (this.#migration === undefined) return;
    const { admin } = this.#of.clusters;
    const at = { namespace: this.#vm.namespace, name: this.#migration.metadata.name };
    await admin.patch(FULL_MIGRATIONS, at, { merge: { status: { phase } }, subresource: 'status' });
  }

  /** Creates a pod; one that a quota refuses is tried again with what the functions would raise. */
  async #admit(
    of: Migrating,
    lacks: 'launcher' | 'attachment',
    create: () => Promise<{ readonly object: Pod }>,
  ): Promise<Pod | Migrated> {
    const { admin } = of.clusters;
    const { namespace } = this.#vm;
    const first = await createOrRefusal(admin, namespace, create);
    if (!isRefusal(first)) return first.object;
    await this.#tell(first, lacks);
    const { verdict, assessment } = await this.#decide(of);
    const refused = { isThrough: false, by: [], lacks, decided: describe(verdict) };
    if (verdict?.reason !== REASON.fitsWithRaise) return { ...refused, refusal: first };
    const raised = await this.#raise(assessment);
    const second = await createOrRefusal(admin, namespace, create);
    for (const { metadata } of raised) await this.#lower(metadata.name);
    if (isRefusal(second)) return { ...refused, refusal: second };
    for (const vmmrq of assessment.vmmrqs) this.#by.add(vmmrqName(vmmrq));
    return second.object;
  }

  /** virt-controller's Event. */
  async #tell({ text }: Refusal, lacks: 'launcher' | 'attachment'): Promise<void> {
    const { admin } = this.#of.clusters;
    const { namespace, name, vmi } = this.#vm;
    const what = lacks === 'launcher' ? 'pod' : 'attachment pod';
    const now = new Date().toISOString();
    await admin.create(EVENTS, {
      metadata: { namespace, generateName: `${name}.` },
      involvedObject: { kind: 'VirtualMachineInstance', namespace, name, uid: vmi.metadata.uid },
      reason: KUBEVIRT.failedCreate,
      message: `Error creating ${what}: ${text}`,
      type: 'Warning',
      firstTimestamp: now,
      lastTimestamp: now,
    });
  }

  async #decide({ clusters: { admin }, rules, view }: Migrating): Promise<{
    readonly verdict: Assessment['verdicts'][number] | undefined;
    readonly assessment: Assessment;
  }> {
    const { namespace: name } = this.#vm;
    const snapshot = await readSnapshot(admin, { name, rules, view: () => Promise.resolve(view) });
    if (snapshot === undefined) throw new Error(`${name} is gone`);
    const assessment = assess(snapshot, rules);
    const uid = this.#migration?.metadata.uid;
    return { verdict: assessment.verdicts.find(({ migration }) => migration.uid === uid), assessment };
  }

  async #raise({ quotas, vmmrqs }: Assessment): Promise<ResourceQuota[]> {
    const { vmi } = this.#vm;
    const { name = '', uid = '' } = this.#migration?.metadata ?? {};
    const lock = {
      token: TOKEN,
      expiresAt: new Date(0).toISOString(),
      migrations: [{ name, uid, vmi: vmi.metadata.uid }],
      quotas: [...quotas],
    };
    const raised: ResourceQuota[] = [];
    for (const { name: quotaName } of quotas) {
      const written = await this.#write(quotaName, (quota) =>
        raisedQuota(quota, { lock, vmmrqs, now: Date.now() }),
      );
      if (written !== undefined) raised.push(written);
    }
    return raised;
  }

  #lower(name: string): Promise<ResourceQuota | undefined> {
    return this.#write(name, (quota) => loweredQuota(quota, { token: TOKEN, outcome: 'admitted' }));
  }

  /** The status as read and changed; again where another writer was first. */
  async #write(
    name: string,
    change: (quota: ResourceQuota) => ResourceQuota | undefined,
  ): Promise<ResourceQuota | undefined> {
    const { admin } = this.#of.clusters;
    for (;;) {
      const { object } = await admin.get(RESOURCE_QUOTAS, { namespace: this.#vm.namespace, name });
      const next = change(object);
      if (next === undefined) return undefined;
      try {
        return (await admin.replace(RESOURCE_QUOTAS, next, { subresource: 'status' })).object;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }
}

const describe = (verdict: Assessment['verdicts'][number] | undefined): string =>
  verdict === undefined ? 'no verdict' : `${verdict.verdict} ${verdict.reason}`;
