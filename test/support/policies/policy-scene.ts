import { ANNOTATION, KUBEVIRT, LABEL, POLICY } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { PODS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { changeQuota, CLAIM, createPod, createQuota, POD_SPEC } from './admission-requests.ts';
import type { ApiRequest } from '../environment/api-request.ts';
import { CLAIMS, startPolicyWorld, type PolicyWorld } from './policy-world.ts';

/**
 * Tenants by their state. Each has a pod `pod`, two pods of KubeVirt, a ResourceClaim `claim` and a quota `quota`
 * that counts none of them.
 */
export const RAISED = 'tenant-raised';
/** Two quotas, for other migrations each. */
export const TWICE = 'tenant-raised-twice';
/** Raised by a grant without a name. */
export const FOR_NO_POD = 'tenant-raised-for-nobody';
/** With a grant, but without the label. */
export const UNLABELLED = 'tenant-raised-unlabelled';
export const FENCED = 'tenant-released';
export const FREE = 'tenant-free';
export const LOCKED = 'tenant-locked';
/** Raised, but without a lock on the namespace. */
export const STOLEN = 'tenant-label-stolen';
/** With an unreadable lock. */
export const BROKEN = 'tenant-lock-broken';

export const TOKEN = '11111111-2222-4333-8444-555555555555';
/** UIDs of migrations: the first is a prefix of the last. */
export const [ONE, OTHER, LONGER] = ['uid-1', 'uid-2', 'uid-1234'] as const;
/** UID of a migration that has its target pod, and waits for the attachment pod. */
export const ATTACHING = 'uid-9';

/** The UID of this migration's VMI. */
export const vmiOf = (migration: string): string => `vmi${migration}`;

/** The labels of its target pod. */
export const ofTarget = (migration: string, vmi = vmiOf(migration)): Record<string, string> => ({
  [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher,
  [KUBEVIRT.createdBy]: vmi,
  [KUBEVIRT.migrationJobUID]: migration,
});

export const ofAttachment = (migration: string): Record<string, string> => ({
  [KUBEVIRT.launcherLabel]: KUBEVIRT.attachment,
  [KUBEVIRT.migrationJobUID]: migration,
});

/** KubeVirt's pods of every tenant, by name. */
export const OF_KUBEVIRT = {
  'virt-launcher-of-longer': ofTarget(LONGER),
  'hp-volume-of-longer': ofAttachment(LONGER),
} as const;

/** Existing target pods in RAISED: pod name to migration. */
export const TARGETS = { 'target-of-one': ONE, 'target-of-longer': LONGER } as const;

const LOCK = JSON.stringify({
  v: 1,
  token: TOKEN,
  acquiredAt: '2030-01-01T00:00:00.000Z',
  expiresAt: '2030-01-01T00:00:30.000Z',
  migrations: [
    { name: 'mig0', uid: ONE, vmi: vmiOf(ONE) },
    { name: 'mig1', uid: OTHER, vmi: vmiOf(OTHER) },
    { name: 'mig2', uid: ATTACHING, vmi: vmiOf(ATTACHING), lacks: 'attachment' },
  ],
  quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
});

/** The pod identity of this migration, as in ANNOTATION.migrations. */
const identityOf = (uid: string): string => `${uid}/${uid === ATTACHING ? KUBEVIRT.attachment : vmiOf(uid)}`;

/** Metadata of a namespace. */
export const held = {
  labels: { [LABEL.locked]: 'true' },
  annotations: {
    [ANNOTATION.lock]: LOCK,
    [ANNOTATION.token]: TOKEN,
    [ANNOTATION.migrations]: [ONE, OTHER, ATTACHING].map(identityOf).join(','),
  },
};

/** Metadata of a quota. */
export const raisedFor = (...migrations: readonly string[]): object => ({
  labels: { [LABEL.raised]: 'true' },
  annotations: { [ANNOTATION.grant]: '{}', [ANNOTATION.migrations]: migrations.map(identityOf).join(',') },
});

export const quotaWith = (metadata: object, name = 'quota'): New<ResourceQuota> => ({
  metadata: { name, ...metadata },
  spec: { hard: { services: '9' } },
});

/** An additional namespace of a test: its metadata and quotas. */
export type Extra = [string, object, New<ResourceQuota>[]];

/** The tenants, and the policies of config/policies except `locked`, which would refuse first. */
export async function startPolicyTenants(extra: readonly Extra[] = []): Promise<PolicyWorld> {
  const world = await startPolicyWorld();
  const fenced = { annotations: { [ANNOTATION.lastRelease]: TOKEN } };
  const broken = { ...held, annotations: { [ANNOTATION.lock]: '{' } };
  const tenants: Extra[] = [
    [RAISED, held, [quotaWith(raisedFor(ONE, OTHER, ATTACHING))]],
    [TWICE, held, [quotaWith(raisedFor(ONE, OTHER)), quotaWith(raisedFor(OTHER, LONGER), 'other')]],
    [FOR_NO_POD, held, [quotaWith(raisedFor())]],
    [UNLABELLED, {}, [quotaWith({ annotations: { [ANNOTATION.grant]: '{}' } })]],
    [FENCED, {}, [quotaWith(fenced)]],
    [FREE, {}, [quotaWith({})]],
    [LOCKED, held, [quotaWith({})]],
    [STOLEN, {}, [quotaWith(raisedFor(ONE))]],
    [BROKEN, broken, [quotaWith({})]],
  ];
  for (const [namespace, metadata, quotas] of tenants) {
    await world.tenant(namespace, metadata, quotas);
    await world.admin.create(PODS, { metadata: { name: 'pod', namespace }, spec: POD_SPEC });
    for (const [name, labels] of Object.entries(OF_KUBEVIRT)) {
      await world.admin.create(PODS, { metadata: { name, namespace, labels }, spec: POD_SPEC });
    }
    await world.admin.create(CLAIMS, { ...CLAIM, metadata: { ...CLAIM.metadata, namespace } });
  }
  for (const [name, uid] of Object.entries(TARGETS)) {
    const metadata = { name, namespace: RAISED, labels: ofTarget(uid) };
    await world.admin.create(PODS, { metadata, spec: POD_SPEC });
  }
  // Before the policies, because they refuse this to an admin too.
  for (const [namespace, metadata, quotas] of extra) await world.tenant(namespace, metadata, quotas);
  const rendered = await render('config/policies');
  await world.installPolicies(rendered.filter(({ metadata }) => metadata.name !== POLICY.locked));
  return world;
}

/** A new pod with these labels; with a migration's UID: the labels of its target pod. */
export function podOf(namespace: string, of: string | Record<string, string> = {}): ApiRequest {
  const request = createPod(namespace);
  const labels = typeof of === 'string' ? ofTarget(of) : of;
  const { metadata, ...rest } = request.body as { metadata: object };
  return { ...request, body: { ...rest, metadata: { ...metadata, labels } } };
}

export function changeOfQuota(namespace: string, metadata: object, subresource = ''): ApiRequest {
  const { body, ...request } = changeQuota(namespace, subresource);
  return { ...request, body: subresource === '' ? { ...(body as object), metadata } : { metadata } };
}

export const newQuota = (namespace: string, metadata: object): ApiRequest => ({
  ...createQuota(namespace),
  body: { metadata: { name: 'new', ...metadata }, spec: { hard: { services: '1' } } },
});
