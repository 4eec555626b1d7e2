import { isDeepStrictEqual } from 'node:util';
import { LABEL, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Namespace, Pod } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { toResponse } from '../../../webhook/admission/admission.ts';
import {
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from '../../../webhook/tls/resources.ts';
import type { ModelCluster } from '../model/api-server.ts';
import { createNamespace } from '../../support/kubevirt/harness.ts';
import { askUntil, Recorded } from '../../support/eventually.ts';
import { startStubWebhook, type StubWebhook } from '../../support/faults/stub-webhook.ts';
import { bindRole } from '../../support/environment/roles.ts';
import type { Replayed, UntilStable } from './play.ts';
import { evaluate, USERS, type Asked, type GuardMode, type Side, type User } from './side.ts';

/** A real API server and quota controller, with the guard's webhooks, which this process answers. */
export interface Real {
  /** The namespace, in which pods can be created; `like`: what is to become true after each step, sooner or later. */
  readonly side: (
    namespace: string,
    like: readonly Pick<Replayed, 'after'>[],
  ) => Promise<{ side: Side; untilStable: UntilStable }>;
  readonly stop: () => Promise<void>;
}

const NOT_LIKE_THE_MODEL_AFTER_MS = 8_000;

export async function startReal(): Promise<Real> {
  const [controlPlane, stubWebhook] = await Promise.all([freshControlPlane(), startStubWebhook()]);
  const admin = connect(controlPlane.adminKubeconfig);
  const caches = new Caches(admin);
  await install(admin, stubWebhook);
  const kubeconfigs: Record<User, Promise<string>> = {
    tenant: controlPlane.kubeconfigForUser({ name: 'tenant-admin', groups: ['tenant-admins'] }),
    lock: controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lock }),
    kubevirt: controlPlane.kubeconfigFor({ namespace: 'kubevirt', name: 'kubevirt-controller' }),
  };
  const users = Object.fromEntries(
    await Promise.all(
      Object.entries(kubeconfigs).map(async ([user, path]) => [user, withResize(connect(await path))]),
    ),
  ) as Record<User, ModelCluster>;
  await untilAsked(users.tenant, stubWebhook);

  let asked: Asked[] = [];
  let mode: GuardMode = 'guard';
  stubWebhook.respondWith(async (request, path) => {
    asked.push({ webhook: webhookOf(path), request });
    if (mode === 'unreachable') return 500;
    const name = request.namespace ?? '';
    const read = await ignoreNotFound(admin.get<Namespace>(NAMESPACES, { name }));
    return toResponse(request.uid, evaluate(request, read?.object));
  });
  return {
    side: async (namespace, like) => {
      await createNamespace(admin, namespace);
      mode = 'guard';
      const side: Side = {
        namespace,
        as: (user) => users[user],
        asked: () => {
          const own = asked.filter(({ request }) => request.namespace === namespace);
          asked = [];
          return own;
        },
        guardIs: (next) => {
          mode = next;
        },
        pauseController: () => controlPlane.pauseControllerManager(),
        resumeController: () => controlPlane.resumeControllerManager(),
      };
      await caches.seeAll(namespace);
      let isLike = true;
      const untilStable: UntilStable = async (look, step) => {
        const wanted = like[step]?.after;
        const after = await until(look, isLike ? wanted : undefined);
        // After the first difference no later state can match, so there is no need to wait.
        isLike &&= isDeepStrictEqual(after, wanted);
        await caches.seeAll(namespace);
        return after;
      };
      return { side, untilStable };
    },
    stop: async () => {
      controlPlane.resumeControllerManager();
      await caches.stop();
      await stubWebhook.stop();
      await controlPlane.stop();
    },
  };
}

/** The last part of the path, before the query with the API server's timeout. */
const webhookOf = (path: string): string => path.split('?')[0]?.split('/').at(-1) ?? '';

/** Polls until the state is the expected one. Without an expectation, or after the timeout, returns the actual state. */
async function until(
  look: () => Promise<readonly unknown[]>,
  wanted: readonly unknown[] | undefined,
): Promise<readonly unknown[]> {
  const end = performance.now() + NOT_LIKE_THE_MODEL_AFTER_MS;
  for (;;) {
    const found = await look();
    const isOver = wanted === undefined || performance.now() > end;
    if (isOver || isDeepStrictEqual(found, wanted)) return found;
  }
}

const withResize = (cluster: Cluster): ModelCluster => {
  const resize = (pod: Pod): ReturnType<ModelCluster['resize']> =>
    // The product's client has no call for this.
    cluster.replace(PODS, pod, { subresource: 'resize' as 'status' });
  return Object.assign(cluster, { resize });
};

const RULES = [
  { apiGroups: [''], resources: ['*'], verbs: ['*'] },
  { apiGroups: ['kubevirt.io'], resources: ['*'], verbs: ['*'] },
  // Without 'override' of 'locks'.
  { apiGroups: ['mtq.kubevirt.io'], resources: [VMMRQS.plural, `${VMMRQS.plural}/status`], verbs: ['*'] },
];

const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

async function install(admin: Cluster, stubWebhook: StubWebhook): Promise<void> {
  await installKubeVirt(admin);
  for (const crd of await render('config/crd')) await admin.create(CRDS, crd);
  await untilServed(admin, VMMRQS);
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  await admin.create(SERVICE_ACCOUNTS, {
    metadata: { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lock },
  });
  for (const [user, name] of Object.entries(USERS)) {
    await bindRole(admin, { role: `conformance-${user}`, user: name, rules: RULES });
  }
  const configuration = (await render('config/webhook')).find(
    ({ kind }) => kind === VALIDATING_WEBHOOK_CONFIGURATIONS.kind,
  ) as ValidatingWebhookConfiguration;
  const webhooks = (configuration.webhooks ?? []).map((webhook) => ({
    ...webhook,
    clientConfig: { ...stubWebhook.clientConfig, url: `${stubWebhook.clientConfig.url}/${webhook.name}` },
  }));
  await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...configuration, webhooks });
}

/** The API server applies roles and webhooks a moment after it has accepted them. */
async function untilAsked(tenant: Cluster, stubWebhook: StubWebhook): Promise<void> {
  const webhooks = new Set<string>();
  stubWebhook.respondWith((_, path) => {
    webhooks.add(webhookOf(path));
    return { allowed: true };
  });
  await askUntil(
    'the webhooks are asked',
    async () => {
      const metadata = { name: 'conformance', labels: { [LABEL.locked]: 'true' } };
      await tenant.create<KubernetesObject>(NAMESPACES, { metadata }).catch(() => undefined);
      const quota = { metadata: { namespace: 'conformance', name: 'quota' }, spec: {} };
      await tenant.create(RESOURCE_QUOTAS, quota, { dryRun: true }).catch(() => undefined);
      for (const value of ['x', 'true']) {
        const merge = { metadata: { labels: { [LABEL.locked]: value } } };
        await tenant.patch(NAMESPACES, { name: 'conformance' }, { merge });
      }
      return webhooks.size;
    },
    (size) => size === 2,
  );
}

const CACHED: readonly ResourceType[] = [NAMESPACES, RESOURCE_QUOTAS, PODS];

/**
 * A test cannot read the state of informers (the API server's own, the quota controller's). They watch as this test does, and are
 * nearer to etcd: they have seen each change that the test has seen.
 */
class Caches {
  readonly #admin: Cluster;
  readonly #seen = new Map<string, KubernetesObject>();
  readonly #changes = new Recorded<KubernetesObject>(({ metadata }) => JSON.stringify(metadata));
  readonly #over = new AbortController();
  readonly #following: Promise<unknown>;

  constructor(admin: Cluster) {
    this.#admin = admin;
    this.#following = Promise.all(CACHED.map((type) => this.#follow(type)));
  }

  async seeAll(namespace: string): Promise<void> {
    const [own, quotas, pods] = await Promise.all([
      ignoreNotFound(this.#admin.get(NAMESPACES, { name: namespace })),
      this.#admin.list(RESOURCE_QUOTAS, { namespace }),
      this.#admin.list(PODS, { namespace }),
    ]);
    const there: KubernetesObject[] = [
      ...(own === undefined ? [] : [own.object]),
      ...quotas.items,
      ...pods.items,
    ];
    const isOfIt = ({ metadata }: KubernetesObject): boolean =>
      metadata.namespace === namespace || (metadata.namespace === undefined && metadata.name === namespace);
    await this.#changes.until(`the caches of ${namespace}`, () => {
      const seen = [...this.#seen.values()].filter(isOfIt);
      return (
        seen.length === there.length &&
        there.every((object) => versionOf(this.#seen.get(object.metadata.uid)) >= versionOf(object))
      );
    });
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#following;
  }

  #follow(type: ResourceType): Promise<void> {
    const put = (object: KubernetesObject): void => {
      this.#seen.set(object.metadata.uid, object);
      this.#changes.add(object);
    };
    const { signal } = this.#over;
    return follow(
      this.#admin,
      { type, where: {}, signal },
      {
        onList: (objects) => {
          for (const object of objects) put(object);
        },
        onChange: put,
        onGone: (object) => {
          this.#seen.delete(object.metadata.uid);
          this.#changes.add(object);
        },
        onError: () => undefined,
      },
    );
  }
}

const versionOf = (object: KubernetesObject | undefined): number =>
  Number(object?.metadata.resourceVersion ?? -1);
