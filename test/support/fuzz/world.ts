import { assess } from '../../../functions/domain/verdict/assessment.ts';
import type { QuotaToRaise } from '../../../functions/domain/lock.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
import { hasAutoLimits } from '../../../functions/domain/sizing/auto-limits.ts';
import type { View } from '../../../functions/domain/view.ts';
import type { LimitRange, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import type { Verdict } from '../../../functions/domain/verdict/verdict.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import {
  EVENTS,
  KUBEVIRTS,
  LIMIT_RANGES,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { readSnapshot } from '../../../functions/cluster/snapshot.ts';
import { FULL_MIGRATIONS, FULL_VMIS, newMigration } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { allowanceCasesOf, quotaSpec, spentOf } from './amounts.ts';
import type { FuzzCase } from './cases.ts';
import { isOldKubeVirt, launcher, vmiBefore, vmiNow } from './pods.ts';
import { rawText } from '../raw-text.ts';

export const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

/** Namespace of an old version's KubeVirt CR: the cases of both versions share the cluster. */
export const OLD_KUBEVIRT = { namespace: 'kubevirt-old', version: 'v1.4.1' };
const NOW = Date.parse('2026-11-21T05:00:00Z');

export interface Clusters {
  readonly admin: Cluster;
  /** As kubevirt-controller: the oracle. */
  readonly virtController: Cluster;
}

/** undefined: the API server would admit the pod; else its refusal. */
export type Answer = string | undefined;

/** A random namespace on the real API server. Call its methods in order; each one waits only for its own requests. */
export class FuzzNamespace {
  readonly of: FuzzCase;
  readonly name: string;
  readonly #clusters: Clusters;
  #vmi: Vmi | undefined;
  #migration: Vmim | undefined;
  #target: New<Pod> | undefined;
  verdict: Verdict | undefined;
  before: Answer;
  after: Answer;
  #toRaise: readonly QuotaToRaise[] = [];

  constructor(of: FuzzCase, name: string, clusters: Clusters) {
    this.of = of;
    this.name = name;
    this.#clusters = clusters;
  }

  /** Starts the VM: creates its namespace, the current defaults, and its launcher pod. */
  async start(): Promise<void> {
    const { admin, virtController } = this.#clusters;
    const namespace = this.name;
    await admin.create(NAMESPACES, { metadata: { name: namespace } });
    await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'default' } });
    if (this.of.policy === 'defaults') {
      await admin.create(LIMIT_RANGES, limitRange(namespace, { cpu: '4', memory: '8Gi' }));
    }
    const { object: vmi } = await admin.create(FULL_VMIS, vmiBefore(namespace, this.of));
    const { object: pod } = await virtController.create(PODS, launcher({ vmi, quotas: [], of: this.of }));
    const now = vmiNow(vmi, this.of);
    const status = { ...now.status, phase: 'Running', nodeName: pod.spec.nodeName ?? '' };
    this.#vmi = (await admin.replace(FULL_VMIS, { ...now, status })).object;
  }

  /** Applies the changes since then, quotas included, and creates the blocked migration. */
  async change(): Promise<void> {
    const { admin, virtController } = this.#clusters;
    const namespace = this.name;
    const { object: migration } = await admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace, name: 'mig0', vmi: 'vm0' }),
    );
    this.#migration = migration;
    const refused = { type: 'migrationRejectedByResourceQuota', status: 'True' as const };
    const status = { phase: 'Pending', conditions: [refused] };
    await admin.replace(FULL_MIGRATIONS, { ...migration, status }, { subresource: 'status' });
    if (this.of.policy === 'defaults') {
      const { items } = await admin.list(LIMIT_RANGES, { namespace });
      const [range] = items;
      const { spec } = limitRange(namespace, { cpu: '6', memory: '9Gi' });
      if (range !== undefined) await admin.replace(LIMIT_RANGES, { ...range, spec });
    }
    // The pod as the API server completes it, before any quota exists.
    const keys = this.of.quotas.map((quota) => ({
      spec: { hard: Object.fromEntries(quota.keys.map(({ key }) => [key, '0'])) },
    }));
    this.#target = launcher({
      vmi: this.#known(this.#vmi),
      migration,
      quotas: keys as unknown as ResourceQuota[],
      of: this.of,
    });
    const { object: pod } = await virtController.create(PODS, this.#target, { dryRun: true });
    await this.#createQuotas(pod);
    await this.#applyPolicy();
  }

  async #createQuotas(pod: Pod): Promise<void> {
    const { admin } = this.#clusters;
    const namespace = this.name;
    const need = podUsage(pod);
    const spent = this.of.quotas.map((quota) => spentOf(quota, need, this.of));
    for (const [index, quota] of this.of.quotas.entries()) {
      const { hard = {}, used = {} } = spent[index] ?? {};
      const metadata = { namespace, name: `quota${String(index)}` };
      const { object } = await admin.create(RESOURCE_QUOTAS, { metadata, spec: quotaSpec(quota, hard) });
      // The test writes the count, because the quota controller is suspended.
      await admin.replace(RESOURCE_QUOTAS, { ...object, status: { hard, used } }, { subresource: 'status' });
    }
    for (const [index, spec] of allowanceCasesOf(this.of, spent, need).entries()) {
      await admin.create(VMMRQS, { metadata: { namespace, name: `vmmrq${String(index)}` }, spec });
    }
  }

  async #applyPolicy(): Promise<void> {
    const { admin } = this.#clusters;
    if (this.of.policy === 'podSecurity') {
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
      await admin.patch(NAMESPACES, { name: this.name }, { merge: { metadata: { labels } } });
    }
    if (this.of.policy === 'maximum') {
      const max = { type: 'Pod', max: { 'ephemeral-storage': '1k' } };
      const range = { metadata: { namespace: this.name, name: 'range' }, spec: { limits: [max] } };
      await admin.create(LIMIT_RANGES, range);
    }
  }

  /** The API server's current answer to the real target pod. */
  async ask(): Promise<Answer> {
    try {
      await this.#clusters.virtController.create(PODS, this.#known(this.#target), { dryRun: true });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return rawText(error.status.message ?? error.reason);
      throw error;
    }
  }

  /** Writes virt-controller's Event about the refusal. */
  async tell(): Promise<void> {
    if (this.before === undefined || this.of.eventLost) return;
    const { name, uid } = this.#known(this.#vmi).metadata;
    const now = new Date().toISOString();
    await this.#clusters.admin.create(EVENTS, {
      metadata: { namespace: this.name, name: 'vm0.refused' },
      involvedObject: { kind: 'VirtualMachineInstance', namespace: this.name, name, uid },
      reason: 'FailedCreate',
      message: `Error creating pod: ${this.before}`,
      type: 'Warning',
      firstTimestamp: now,
      lastTimestamp: now,
    });
  }

  /** The project's verdict, from its own reads. */
  async evaluate(): Promise<void> {
    const kubevirtNamespace = isOldKubeVirt(this.of) ? OLD_KUBEVIRT.namespace : 'kubevirt';
    const rules = { kubevirtNamespace, lockSeconds: 30 };
    const view = await this.#view(kubevirtNamespace);
    const snapshot = await readSnapshot(this.#clusters.admin, {
      name: this.name,
      rules,
      view: () => Promise.resolve(view),
    });
    if (snapshot === undefined) throw new Error(`${this.name} is gone`);
    const { verdicts, quotas } = assess(snapshot, rules);
    this.verdict = verdicts[0];
    this.#toRaise = quotas;
  }

  /** Applies the planned raise. Without a plan, applies the whole allowance to every quota, to see whether that helps. */
  async raise(): Promise<void> {
    const { admin } = this.#clusters;
    const namespace = this.name;
    const [{ items: quotas }, { items: vmmrqs }] = await Promise.all([
      admin.list(RESOURCE_QUOTAS, { namespace }),
      admin.list(VMMRQS, { namespace }),
    ]);
    const ours = this.verdict?.verdict === 'FitsWithRaise';
    const [{ metadata: of }, { metadata: vmi }] = [this.#known(this.#migration), this.#known(this.#vmi)];
    const migrations = [{ name: 'mig0', uid: of.uid, vmi: vmi.uid }];
    const order = { token: 'fuzz', expiresAt: new Date(NOW).toISOString(), migrations };
    for (const quota of quotas) {
      if (ours && !this.#toRaise.some(({ uid }) => uid === quota.metadata.uid)) continue;
      const lock = { ...order, quotas: ours ? [...this.#toRaise] : [] };
      const raised = raisedQuota(quota, { lock, vmmrqs, now: NOW });
      if (raised !== undefined) await this.#enforce(raised);
    }
  }

  async #enforce(raised: ResourceQuota): Promise<void> {
    const { admin } = this.#clusters;
    const { object } = await admin.replace(RESOURCE_QUOTAS, raised, { subresource: 'status' });
    const state = grantOf(object);
    if (state.kind !== 'held') throw new Error(`${this.name}: raised without its record`);
  }

  /** The guard's view without other migrations. */
  async #view(namespace: string): Promise<View> {
    const [kubevirt] = (await this.#clusters.admin.list(KUBEVIRTS, { namespace })).items;
    const ratio = kubevirt?.spec?.configuration?.additionalGuestMemoryOverheadRatio;
    return {
      left: { cluster: 5, node: 2, nodes: {} },
      limits: { cluster: 5, node: 2 },
      others: false,
      served: true,
      clusterWide: false,
      open: { queued: [], status: false },
      kubevirt: {
        overheadRatio: ratio ?? '1',
        autoLimits: hasAutoLimits(kubevirt),
        drainTaint: 'kubevirt.io/drain',
      },
    };
  }

  #known<T>(value: T | undefined): T {
    if (value === undefined) throw new Error(`${this.name} has not come that far`);
    return value;
  }
}

const limitRange = (namespace: string, limits: Record<string, string>): New<LimitRange> => ({
  metadata: { namespace, name: 'range' },
  spec: { limits: [{ type: 'Container', default: limits, defaultRequest: { 'ephemeral-storage': '1M' } }] },
});
