import type { Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { askUntil } from '../eventually.ts';
import { SERVICE_ACCOUNTS, type Clusters } from './world.ts';
import { rawText } from '../raw-text.ts';

const NAMESPACE = 'barrier';

/**
 * Quota admission reads quotas from a cache that one watch fills in the order of their writes. Once it refuses by the
 * newest amount of the last written quota, it has seen all earlier writes.
 */
export class Barrier {
  readonly #clusters: Clusters;
  #quota: ResourceQuota | undefined;
  #count = 0;

  constructor(clusters: Clusters) {
    this.#clusters = clusters;
  }

  async wait(): Promise<void> {
    const { admin } = this.#clusters;
    if (this.#quota === undefined) {
      await admin.create(NAMESPACES, { metadata: { name: NAMESPACE } });
      await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace: NAMESPACE, name: 'default' } });
      const metadata = { namespace: NAMESPACE, name: 'barrier' };
      this.#quota = (await admin.create(RESOURCE_QUOTAS, { metadata, spec: { hard: { pods: '0' } } })).object;
    }
    this.#count += 1;
    const hard = { pods: '0', 'requests.ephemeral-storage': String(this.#count) };
    const used = { pods: '1', 'requests.ephemeral-storage': '0' };
    const { object } = await admin.replace(RESOURCE_QUOTAS, { ...this.#quota, spec: { hard } });
    this.#quota = (
      await admin.replace(RESOURCE_QUOTAS, { ...object, status: { hard, used } }, { subresource: 'status' })
    ).object;
    await askUntil(
      'quota admission has seen every write',
      () => this.#refusal(),
      (text) => text.includes(`requests.ephemeral-storage=${String(this.#count)}`),
    );
  }

  async #refusal(): Promise<string> {
    const resources = { requests: { 'ephemeral-storage': '1Gi' } };
    const spec = {
      automountServiceAccountToken: false,
      serviceAccountName: 'default',
      containers: [{ name: 'one', image: 'one', resources }],
    };
    const pod = { metadata: { namespace: NAMESPACE, name: 'one' }, spec: spec as Pod['spec'] };
    try {
      await this.#clusters.admin.create(PODS, pod, { dryRun: true });
      return '';
    } catch (error) {
      if (error instanceof ApiError) return rawText(error.status.message).split('limited: ')[1] ?? '';
      throw error;
    }
  }
}
