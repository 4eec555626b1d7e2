import { ANNOTATION, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { ObjectMeta, ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { breakGlassToken } from '../../../functions/domain/break-glass.ts';
import { breakGlassCommand } from '../../../webhook/admission/messages.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';

/** Writes of the project's keys on namespaces and quotas by a test. Admission refuses them to an administrator, too. */

/** A merge patch, null removes. */
interface Metadata {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** Writes a namespace's keys as an administrator, by break-glass. */
export async function writeByHand(
  admin: Cluster,
  name: string,
  { labels = {}, annotations = {} }: Metadata,
): Promise<void> {
  const { object } = await admin.get(NAMESPACES, { name });
  const word = breakGlassToken(object.metadata.annotations);
  const patch = (metadata: Metadata): Promise<unknown> =>
    admin.patch(NAMESPACES, { name }, { merge: { metadata } });
  // Break-glass counts only when the write adds it.
  if (object.metadata.annotations?.[ANNOTATION.breakGlass] === word)
    await patch({ annotations: { [ANNOTATION.breakGlass]: null } });
  await patch({ labels, annotations: { ...annotations, [ANNOTATION.breakGlass]: word } });
}

interface Named {
  readonly metadata: Pick<ObjectMeta, 'name' | 'annotations'>;
}

/** The body of the merge patch that the command of docs/operations.md sends. */
export function breakGlassPatch({ metadata: { name, annotations } }: Named): object {
  const command = breakGlassCommand({ namespace: name, token: breakGlassToken(annotations) });
  return JSON.parse(/-p '(.*)'$/.exec(command)?.[1] ?? '') as object;
}

/** Removes a lock by that command. */
export async function breakGlassOf(admin: Cluster, name: string): Promise<void> {
  const { object } = await admin.get(NAMESPACES, { name });
  await admin.patch(NAMESPACES, { name }, { merge: breakGlassPatch(object) as Record<string, unknown> });
}

/** Writes a quota's keys by one of the project's accounts: admission refuses all others. */
export async function markByHand(
  { cluster }: Pick<TestEnvironment, 'cluster'>,
  at: { readonly namespace: string; readonly name: string },
  { labels = {}, annotations = {} }: Pick<ResourceQuota['metadata'], 'labels' | 'annotations'>,
): Promise<void> {
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lower };
  const lower = connect(await cluster.controlPlane.kubeconfigFor(account));
  const { object } = await lower.get(RESOURCE_QUOTAS, at);
  const { metadata } = object;
  const marked = {
    ...metadata,
    labels: { ...metadata.labels, ...labels },
    annotations: { ...metadata.annotations, ...annotations },
  };
  await lower.replace(RESOURCE_QUOTAS, { ...object, metadata: marked }, { subresource: 'status' });
}
