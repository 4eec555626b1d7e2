import { SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Cluster, New } from '../../../functions/kubernetes/cluster.ts';
import { MTQS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { isDryRun, whatOf, type Audited } from '../environment/audit.ts';

const CRD = {
  metadata: { name: 'mtqs.mtq.kubevirt.io' },
  spec: {
    group: 'mtq.kubevirt.io',
    scope: 'Cluster',
    names: { kind: 'MTQ', listKind: 'MTQList', plural: 'mtqs', singular: 'mtq' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
} as New<KubernetesObject>;

/** Installs the kind of the incumbent's own object, by which other programs detect it. */
export async function installMtqs(admin: Cluster): Promise<void> {
  await admin.create(CRDS, CRD);
  await untilServed(admin, MTQS);
}

/** The incumbent's writes in one namespace with the VMMRQ `more` and the quota `quota` (facts/peers.md §0). */
export class Incumbent {
  readonly #admin: Cluster;
  readonly #namespace: string;

  constructor(admin: Cluster, namespace: string) {
    this.#admin = admin;
    this.#namespace = namespace;
  }

  /** Records the quota as it is, before it raises it. */
  async record(migration: string): Promise<void> {
    const { name, spec } = await this.#quota();
    await this.#writeStatus({
      migrationsToBlockingResourceQuotas: { [migration]: [name] },
      originalBlockingResourceQuotas: [{ name, spec }],
    });
  }

  async raise(hard: ResourceQuota['spec']['hard']): Promise<void> {
    await this.#write({ hard: { ...(await this.#quota()).spec.hard, ...hard } });
  }

  /** Restores the quota from its record, which is all that it knows, and clears that. */
  async restore(): Promise<void> {
    const { object } = await this.#admin.get(VMMRQS, { namespace: this.#namespace, name: 'more' });
    const [original] = object.status?.originalBlockingResourceQuotas ?? [];
    if (original !== undefined) await this.#write(original.spec);
    await this.#writeStatus({ migrationsToBlockingResourceQuotas: {}, originalBlockingResourceQuotas: [] });
  }

  async #quota(): Promise<{ name: string; spec: ResourceQuota['spec'] }> {
    const { object } = await this.#admin.get(RESOURCE_QUOTAS, { namespace: this.#namespace, name: 'quota' });
    return { name: object.metadata.name, spec: object.spec };
  }

  async #write(spec: ResourceQuota['spec']): Promise<void> {
    const at = { namespace: this.#namespace, name: 'quota' };
    await this.#admin.patch(RESOURCE_QUOTAS, at, { merge: { spec } });
  }

  /** Its own type of the status has no conditions, so its PUT removes them. */
  async #writeStatus(fields: object): Promise<void> {
    const { object } = await this.#admin.get(VMMRQS, { namespace: this.#namespace, name: 'more' });
    const { additionalMigrationResources = {} } = object.spec;
    const status = { additionalMigrationResources, ...fields };
    await this.#admin.replace(VMMRQS, { ...object, status }, { subresource: 'status' });
  }
}

const OURS = 'system:serviceaccount:mtq-system:';
/** What the guard keeps for itself (domain/incumbent.ts). */
const OF_THE_GUARD = ['secrets mtq-guard-certs', 'validatingwebhookconfigurations mtq-guard'];

/** What our accounts wrote besides Events. */
export const writesOf = (requests: readonly Audited[]): string[] =>
  requests
    .filter((one) => one.user.username.startsWith(OURS) && !['get', 'list', 'watch'].includes(one.verb))
    .filter((one) => !isDryRun(one) && one.objectRef?.resource !== 'events')
    .filter(({ user, objectRef: { resource = '', name = '' } = {} }) => {
      const isGuard = user.username === `${OURS}${SERVICE_ACCOUNT.guard}`;
      return !(isGuard && OF_THE_GUARD.includes(`${resource} ${name}`));
    })
    .map((one) => `${one.user.username.slice(OURS.length)} ${whatOf(one)}`);
