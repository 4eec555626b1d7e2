import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, describeError, ignoreNotFound } from '../../../../functions/kubernetes/errors.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { Cluster, New, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import type { AdmissionRequest } from '../../../../webhook/admission/admission.ts';
import {
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhook,
  type ValidatingWebhookConfiguration,
} from '../../../../webhook/tls/resources.ts';
import { startWebhookServer, type WebhookAnswer, type WebhookServer } from '../../webhook-server.ts';
import type { Log } from '../client-go/cache.ts';
import { reviewEviction, type EvictionAnswer, type EvictionView } from './eviction-review.ts';
import { refusalOf } from './migration-review.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
} from '../objects/objects.ts';
import { RELEASE, type Release } from '../objects/release.ts';
import type { LauncherPod, Vmi, Vmim } from '../objects/types.ts';

export interface VirtApiOptions {
  /** Registers the webhooks, as virt-operator does. */
  readonly admin: Cluster;
  /** Connected as system:serviceaccount:<namespace>:kubevirt-apiserver. */
  readonly cluster: Cluster;
  /** Where the KubeVirt CR is; 'kubevirt' when left out. */
  readonly namespace?: string;
  readonly release?: Release;
  readonly log?: Log;
}

export interface VirtApi {
  /** Removes the webhooks too: a migration could not be created without an answer of theirs. */
  stop(): Promise<void>;
}

const NAME = 'virt-api-validator';
const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/**
 * virt-api's validating webhooks that drains and upgrades meet: evictions of launchers and of attachment pods, and priorities of
 * migrations. Resolves when they are in effect.
 */
export async function startVirtApi(options: VirtApiOptions): Promise<VirtApi> {
  const { admin, namespace = 'kubevirt', release = RELEASE, log = () => undefined } = options;
  const { promise: called, resolve } = Promise.withResolvers<true>();
  const server = await startWebhookServer(async (request) => {
    resolve(true);
    try {
      return await answer(request, { ...options, namespace, release });
    } catch (error) {
      log(`virt-api: ${describeError(error)}`);
      return 500;
    }
  });
  try {
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configurationFor(server));
    const until = performance.now() + WITHIN_MS;
    do {
      if (performance.now() > until) throw new Error("the API server does not call virt-api's webhooks");
      await probe(admin, namespace);
    } while (!(await Promise.race([called, delay(LOOK_EVERY_MS, false)])));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    async stop() {
      const configuration = admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: NAME });
      await configuration.catch((error: unknown) => log(describeError(error)));
      await server.stop();
    },
  };
}

/** Any answer will do; the webhook notes the call. */
async function probe(admin: Cluster, namespace: string): Promise<void> {
  const migration = newMigration({ namespace, name: 'probe', vmi: 'none' });
  await admin.create(FULL_MIGRATIONS, migration, { dryRun: true }).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
}

type Parts = Required<Pick<VirtApiOptions, 'cluster' | 'namespace' | 'release'>>;

async function answer(request: AdmissionRequest, parts: Parts): Promise<WebhookAnswer> {
  if (request.subResource === 'eviction') return answerEviction(request, parts);
  if (request.object === null || !parts.release.hasPriority) return { allowed: true };
  const refusal = refusalOf({
    user: request.userInfo.username,
    namespace: parts.namespace,
    migration: request.object as Vmim,
    before: (request.oldObject ?? undefined) as Vmim | undefined,
  });
  return refusal === undefined ? { allowed: true } : { allowed: false, status: refusal };
}

async function answerEviction(request: AdmissionRequest, parts: Parts): Promise<WebhookAnswer> {
  const view = await readEviction(request, parts);
  const answered: EvictionAnswer = view === undefined ? { do: 'pass' } : reviewEviction(view);
  if (answered.do === 'pass') return { allowed: true };
  if (answered.do === 'mark' && view?.vmi !== undefined && !isDryRun(request)) {
    await mark(parts.cluster, view.vmi, answered.node);
  }
  return { allowed: false, status: { code: 429, message: answered.message } };
}

/** Undefined: the pod is gone. */
async function readEviction(
  { namespace = '', name = '' }: AdmissionRequest,
  { cluster, namespace: home }: Parts,
): Promise<EvictionView | undefined> {
  const read = async <T extends KubernetesObject>(
    type: ResourceType<T>,
    wanted: string | undefined,
  ): Promise<T | undefined> =>
    wanted === undefined
      ? undefined
      : (await ignoreNotFound(cluster.get(type, { namespace, name: wanted })))?.object;
  const pod = await read(LAUNCHER_PODS, name);
  if (pod === undefined) return undefined;
  const owner = await read(LAUNCHER_PODS, ownerNameOf(pod, 'Pod'));
  const vmi = await read(FULL_VMIS, (owner ?? pod).metadata.annotations?.[ANNOTATIONS.domain]);
  const { items } = await cluster.list(FULL_KUBEVIRTS, { namespace: home });
  return { pod, owner, vmi, configuration: items[0]?.spec?.configuration ?? {} };
}

const ownerNameOf = ({ metadata }: LauncherPod, kind: string): string | undefined =>
  metadata.ownerReferences?.find((owner) => owner.kind === kind)?.name;

/** Of the request, or in the Eviction itself, as `kubectl drain --dry-run=server` sends it. */
function isDryRun({ dryRun, object }: AdmissionRequest): boolean {
  const { deleteOptions } = (object ?? {}) as { deleteOptions?: { dryRun?: readonly string[] } };
  return dryRun || deleteOptions?.dryRun?.includes('All') === true;
}

async function mark(cluster: Cluster, { metadata }: Vmi, node: string): Promise<void> {
  const { name, namespace = '', uid } = metadata;
  const merge = { metadata: { uid }, status: { evacuationNodeName: node } };
  await cluster.patch(FULL_VMIS, { name, namespace }, { merge });
}

function configurationFor({ clientConfig }: WebhookServer): New<ValidatingWebhookConfiguration> {
  const webhook = { clientConfig, admissionReviewVersions: ['v1'], timeoutSeconds: 10 };
  const evictions = {
    ...webhook,
    // An eviction that KubeVirt does not answer must not block every drain of the cluster.
    failurePolicy: 'Ignore',
    sideEffects: 'NoneOnDryRun',
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods/eviction'], operations: ['*'] }],
  };
  const startsWith = (prefix: string): Required<ValidatingWebhook>['matchConditions'] => [
    { name: `${prefix}-pods`, expression: `object.metadata.name.startsWith("${prefix}")` },
  ];
  const migrations = {
    ...webhook,
    name: 'migration-validator.kubevirt.io',
    failurePolicy: 'Fail',
    sideEffects: 'None',
    rules: [
      {
        apiGroups: ['kubevirt.io'],
        apiVersions: ['v1'],
        resources: ['virtualmachineinstancemigrations'],
        operations: ['CREATE', 'UPDATE'],
      },
    ],
  };
  return {
    metadata: { name: NAME },
    webhooks: [
      {
        ...evictions,
        name: 'virt-launcher-eviction-interceptor.kubevirt.io',
        matchConditions: startsWith('virt-launcher'),
      },
      {
        ...evictions,
        name: 'hotplug-pod-eviction-interceptor.kubevirt.io',
        matchConditions: startsWith('hp-volume'),
      },
      migrations,
    ],
  };
}
