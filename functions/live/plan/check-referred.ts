import type { Finding } from '../../domain/live/conditions.ts';
import type { NamedReference, NetworkMap, Provider, StorageMap } from '../../domain/live/forklift.ts';
import { named } from '../../domain/live/reference.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { HOOKS, NETWORK_MAPS, PROVIDERS, STORAGE_MAPS } from '../../kubernetes/live-resources.ts';
import type { LiveContext } from '../context.ts';
import { hookFindings, networkMapFindings, storageMapFindings } from '../findings/maps.ts';
import { phaseOf, providerFindings } from '../findings/providers.ts';
import { getOrUndefined } from '../read/get.ts';
import { readNetworks, readStorageClasses } from '../read/names-in.ts';
import { NO_PROVIDERS, type PlanProviders } from '../read/plan-view.ts';
import {
  getProvider,
  identifyCluster,
  readCluster,
  withoutCluster,
  type FoundProvider,
} from '../read/providers.ts';
import { clustersWithRights, hostsOf, reviewOf } from './requester-review.ts';
import { rightsToConnect, rightsToNetworks, rightsToStorageClasses, rightsToUse } from './rights-needed.ts';
import { writeFindings, writeRefusal } from './write-findings.ts';

export type Checking = Pick<LiveContext, 'hub' | 'remotes' | 'clock'>;

interface ReviewedProvider extends FoundProvider {
  /** What the requester of the provider lacks: then nothing of its Secret is read, and it has no cluster. */
  readonly refusal: Finding | undefined;
}

/** Reads the provider for a user who may use it. */
export async function readUsable(
  at: NamedReference,
  { hub, remotes }: Checking,
): Promise<ReviewedProvider | undefined> {
  const provider = await getProvider(at, hub);
  if (provider === undefined) return undefined;
  const review = await reviewOf([provider], hub);
  const refusal = await review(rightsToConnect(provider, provider.metadata.namespace ?? ''));
  const found =
    refusal === undefined ? await readCluster(provider, { hub, remotes }) : withoutCluster(provider, remotes);
  return { ...found, refusal };
}

/** Connects to the provider's cluster, and writes the provider's findings. The result has no cluster if it does not answer. */
export async function checkProvider(
  reference: NamedReference,
  checking: Checking,
): Promise<FoundProvider | undefined> {
  const read = await readUsable(reference, checking);
  if (read === undefined) return undefined;
  const { cluster, secretObject, refusal, ...view } = read;
  if (refusal !== undefined) {
    const findings = [refusal];
    const more = { phase: phaseOf(findings) };
    const provider = await writeRefusal(PROVIDERS, { object: read.provider, findings, more }, checking);
    return { ...read, provider };
  }
  const answer = cluster === undefined ? undefined : (await identifyCluster(cluster)).answer;
  const findings = providerFindings({ ...view, answer });
  const more: Provider['status'] = {
    phase: phaseOf(findings),
    ...(secretObject && { secretResourceVersion: secretObject.metadata.resourceVersion }),
  };
  const provider = await writeFindings(PROVIDERS, { object: read.provider, findings, more }, checking);
  return { ...read, provider, cluster: answer?.kind === 'ok' ? cluster : undefined };
}

/** Checks a storage map with its own providers. Storage classes of its own cluster are compared only for a requester who may get them. */
export async function checkStorageMap(at: NamedReference, checking: Checking): Promise<void> {
  const map = await getOrUndefined(checking.hub.get(STORAGE_MAPS, named(at)));
  if (map === undefined) return;
  const review = await reviewOf([map], checking.hub);
  const refusal = await review(rightsToUse(map));
  if (refusal !== undefined) {
    await writeRefusal(STORAGE_MAPS, { object: map, findings: [refusal] }, checking);
    return;
  }
  const providers = await readProviders(map, checking);
  const clusters = await clustersWithRights(providers, review, (hosts) => rightsToStorageClasses(map, hosts));
  const known = await readStorageClasses(clusters);
  await writeFindings(STORAGE_MAPS, { object: map, findings: storageMapFindings(map, known) }, checking);
}

/** Checks a network map with its own providers. */
export async function checkNetworkMap(at: NamedReference, checking: Checking): Promise<void> {
  const map = await getOrUndefined(checking.hub.get(NETWORK_MAPS, named(at)));
  if (map === undefined) return;
  const review = await reviewOf([map], checking.hub);
  const unusable = await review(rightsToUse(map));
  const providers = unusable === undefined ? await readProviders(map, checking) : NO_PROVIDERS;
  const refusal = unusable ?? (await review(rightsToNetworks(map, hostsOf(providers))));
  if (refusal !== undefined) {
    await writeRefusal(NETWORK_MAPS, { object: map, findings: [refusal] }, checking);
    return;
  }
  const known = await readNetworks(map, clustersOf(providers));
  await writeFindings(NETWORK_MAPS, { object: map, findings: networkMapFindings(map, known) }, checking);
}

/** Checks a hook. It names nothing that is read for it. */
export async function checkHook(at: NamedReference, checking: Checking): Promise<void> {
  const hook = await getOrUndefined(checking.hub.get(HOOKS, named(at)));
  if (hook === undefined) return;
  await writeFindings(HOOKS, { object: hook, findings: hookFindings(hook) }, checking);
}

const clustersOf = ({
  source,
  destination,
}: PlanProviders): Record<'source' | 'target', Reader | undefined> => ({
  source: source?.cluster,
  target: destination?.cluster,
});

/** Reads the providers that the map names. */
async function readProviders(
  { metadata: { namespace = '' }, spec: { provider } }: StorageMap | NetworkMap,
  checking: Checking,
): Promise<PlanProviders> {
  const [source, destination] = await Promise.all([
    readUsable({ namespace, ...named(provider.source) }, checking),
    readUsable({ namespace, ...named(provider.destination) }, checking),
  ]);
  return { source, destination };
}
