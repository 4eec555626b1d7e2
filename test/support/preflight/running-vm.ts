import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { CLAIMS, PODS } from '../../../functions/kubernetes/resources.ts';
import { renderAttachmentPod } from '../../cluster/kubevirt/objects/attachment-pod.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  newMigration,
  type Configuration,
} from '../../cluster/kubevirt/objects/objects.ts';
import { RELEASE, type Release } from '../../cluster/kubevirt/objects/release.ts';
import type { Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { launcher, vmiBefore, vmiNow } from '../fuzz/pods.ts';
import type { Clusters } from '../fuzz/world.ts';
import type { VmCase } from './cases.ts';

/** KubeVirt as it is when launchers are created. */
export interface Renderer {
  readonly configuration: Configuration;
  /** It adds no limits by itself. */
  readonly isOld: boolean;
  readonly release: Release;
}

export const FIRST_RELEASE = RELEASE;

export interface VmOptions {
  readonly of: VmCase;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
}

/** A running VM on a real API server, with pods as the KubeVirt stand-in renders them. */
export class RunningVm {
  readonly of: VmCase;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly #clusters: Clusters;
  readonly #vmi: Vmi;
  readonly source: Pod;
  readonly attachment: Pod | undefined;
  readonly claim: PersistentVolumeClaim | undefined;

  private constructor(
    { of, namespace, name, node }: VmOptions,
    clusters: Clusters,
    has: Pick<RunningVm, 'source' | 'attachment' | 'claim'> & { readonly vmi: Vmi },
  ) {
    this.of = of;
    this.namespace = namespace;
    this.name = name;
    this.node = node;
    this.#clusters = clusters;
    this.#vmi = has.vmi;
    this.source = has.source;
    this.attachment = has.attachment;
    this.claim = has.claim;
  }

  get vmi(): Vmi {
    return this.#vmi;
  }

  /** Starts the VM, then changes what its next launcher will have. */
  static async start(options: VmOptions, clusters: Clusters, by: Renderer): Promise<RunningVm> {
    const { of, namespace, node } = options;
    const { admin, virtController } = clusters;
    const { object: vmi } = await admin.create(FULL_VMIS, newVmi(options));
    const rendered = render({ vmi, of, quotas: [], by });
    const spec = { ...rendered.spec, nodeName: node };
    const { object: source } = await virtController.create(PODS, { ...rendered, spec });
    await running(clusters, source);
    const attachment = of.hotplug ? await attach(clusters, vmi, source) : undefined;
    const claim = of.state === 'none' ? undefined : await keepState(clusters, options);
    const now = vmiNow(vmi, of);
    const status = { ...now.status, phase: 'Running', nodeName: node, conditions: [liveMigratable(of)] };
    await admin.replace(FULL_VMIS, { ...now, status });
    const stored = (await admin.get(FULL_VMIS, { namespace, name: vmi.metadata.name })).object;
    return new RunningVm(options, clusters, { vmi: stored, source, attachment, claim });
  }

  /** The pod that KubeVirt would create for the migration now. */
  target(migration: Vmim, quotas: readonly ResourceQuota[], by: Renderer): New<Pod> {
    return render({ vmi: this.#vmi, of: this.of, migration, quotas, by });
  }

  targetAttachment(launcherPod: Pod, migration: Vmim): New<Pod> {
    return attachmentOf(this.#vmi, launcherPod, migration);
  }

  targetClaim(migration: Vmim): New<PersistentVolumeClaim> | undefined {
    if (this.of.state !== 'ReadWriteOnce') return undefined;
    const labels = { [KUBEVIRT.migrationName]: migration.metadata.name };
    return newClaim(this.namespace, `state-of-${this.name}-2`, { labels, access: 'ReadWriteOnce' });
  }

  /** KubeVirt has a newer launcher. */
  async becomeOutdated(): Promise<void> {
    const at = { namespace: this.namespace, name: this.name };
    const merge = { metadata: { labels: { [KUBEVIRT.outdatedLauncher]: '' } } };
    await this.#clusters.admin.patch(FULL_VMIS, at, { merge });
  }

  /** What keeps preflight from telling what happens to it. */
  async becomeUnknown(): Promise<void> {
    const { admin } = this.#clusters;
    const { namespace, name } = this;
    if (this.of.unknown === 'other cluster') {
      const sends = { migrationID: name, connectURL: 'elsewhere:9185' };
      await admin.create(
        FULL_MIGRATIONS,
        newMigration({ namespace, name: `away-${name}`, vmi: name, sends }),
      );
    }
    if (this.of.unknown !== 'no launcher') return;
    // Without its launcher the garbage collector would delete the attachment pod too.
    for (const { metadata } of [...(this.attachment === undefined ? [] : [this.attachment]), this.source]) {
      await admin.delete(PODS, { namespace, name: metadata.name }, { gracePeriodSeconds: 0 });
    }
  }

  /** The guest has moved: its source has ended. */
  async end(target: Pod, claim: PersistentVolumeClaim | undefined): Promise<void> {
    const { admin } = this.#clusters;
    const { namespace } = this;
    const status = { phase: 'Succeeded' };
    await admin.patch(
      PODS,
      { namespace, name: this.source.metadata.name },
      { merge: { status }, subresource: 'status' },
    );
    for (const pod of this.attachment === undefined ? [] : [this.attachment]) {
      await admin.delete(PODS, { namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 });
    }
    if (claim !== undefined && this.claim !== undefined) {
      const { name } = this.claim.metadata;
      await admin.patch(CLAIMS, { namespace, name }, { merge: { metadata: { finalizers: null } } });
      await admin.delete(CLAIMS, { namespace, name });
      const labels = { [KUBEVIRT.stateOf]: this.name };
      await admin.patch(
        CLAIMS,
        { namespace, name: claim.metadata.name },
        { merge: { metadata: { labels } } },
      );
    }
    const nodeName = target.spec.nodeName ?? 'elsewhere';
    const labels = { [KUBEVIRT.nodeName]: nodeName, [KUBEVIRT.outdatedLauncher]: null };
    const merge = { metadata: { labels }, status: { nodeName } };
    await admin.patch(FULL_VMIS, { namespace, name: this.name }, { merge });
  }

  /** Its object only: another case must not see it. */
  async remove(): Promise<void> {
    const { admin } = this.#clusters;
    const at = { namespace: this.namespace, name: this.name };
    await admin.patch(FULL_VMIS, at, { merge: { metadata: { finalizers: null } } });
    await admin.delete(FULL_VMIS, at);
  }
}

function newVmi({ of, namespace, name, node }: VmOptions): New<Vmi> {
  const made = vmiBefore(namespace, of);
  const { evictionStrategy: _, ...spec } = made.spec;
  const tpm = of.state === 'none' ? {} : { tpm: { persistent: true } };
  const volumes = of.hotplug
    ? [{ name: 'more', persistentVolumeClaim: { claimName: 'more', hotpluggable: true } }]
    : [];
  return {
    ...made,
    metadata: { ...made.metadata, name, labels: { [KUBEVIRT.nodeName]: node } },
    spec: {
      ...spec,
      ...(of.strategy === null ? {} : { evictionStrategy: of.strategy }),
      domain: { ...spec.domain, devices: { ...spec.domain.devices, ...tpm } },
      volumes: [...spec.volumes, ...volumes],
    },
  };
}

const liveMigratable = ({
  isMigratable,
}: VmCase): NonNullable<NonNullable<Vmi['status']>['conditions']>[number] =>
  isMigratable
    ? { type: 'LiveMigratable', status: 'True' }
    : {
        type: 'LiveMigratable',
        status: 'False',
        reason: 'DisksNotLiveMigratable',
        message: 'a disk is local',
      };

interface Rendered {
  readonly vmi: Vmi;
  readonly of: VmCase;
  readonly migration?: Vmim;
  readonly quotas: readonly ResourceQuota[];
  readonly by: Renderer;
}

const render = ({ vmi, of, migration, quotas, by }: Rendered): New<Pod> =>
  launcher({
    vmi,
    ...(migration === undefined ? {} : { migration }),
    quotas: by.isOld ? [] : quotas,
    of: { vm: of.vm, change: 'nothing' },
    configuration: by.configuration,
    release: by.release,
  });

export async function running({ admin }: Clusters, { metadata }: Pod): Promise<void> {
  const at = { namespace: metadata.namespace ?? '', name: metadata.name };
  await admin.patch(PODS, at, { merge: { status: { phase: 'Running' } }, subresource: 'status' });
}

const attachmentOf = (vmi: Vmi, launcherPod: Pod, migration?: Vmim): New<Pod> =>
  renderAttachmentPod({
    vmi,
    launcher: { apiVersion: 'v1', kind: 'Pod', ...launcherPod },
    ...(migration === undefined ? {} : { migration }),
  }) as unknown as New<Pod>;

async function attach(clusters: Clusters, vmi: Vmi, source: Pod): Promise<Pod> {
  const pod = attachmentOf(vmi, source);
  const { object } = await clusters.virtController.create(PODS, {
    ...pod,
    spec: { ...pod.spec, automountServiceAccountToken: false } as Pod['spec'],
  });
  await running(clusters, object);
  return object;
}

async function keepState(
  { admin }: Clusters,
  { of, namespace, name }: VmOptions,
): Promise<PersistentVolumeClaim> {
  const labels = { [KUBEVIRT.stateOf]: name };
  const claim = newClaim(namespace, `state-of-${name}`, { labels, access: of.state });
  return (await admin.create(CLAIMS, claim)).object;
}

const newClaim = (
  namespace: string,
  name: string,
  { labels, access }: { readonly labels: Record<string, string>; readonly access: string },
): New<PersistentVolumeClaim> => ({
  metadata: { namespace, name: `persistent-state-for-${name}`, labels },
  spec: { accessModes: [access], resources: { requests: { storage: '10Mi' } } },
});
