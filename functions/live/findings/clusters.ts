import { critical, findingOf, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView } from './plan-view.ts';
import type { KubeVirt } from '../../domain/objects.ts';
import { canMigrateLive, isOlder, isOldKubernetes, versionOf } from './versions.ts';

/** Problems of the two clusters themselves that keep plans from running, or VMs from moving. */
export function clusterFindings({ sourceCluster, targetCluster }: PlanView): Finding[] {
  const known = [
    ...(sourceCluster === undefined ? [] : [{ name: 'source', ...sourceCluster }]),
    ...(targetCluster === undefined ? [] : [{ name: 'target', ...targetCluster }]),
  ];
  return [
    ...known.flatMap(gate),
    ...(sourceCluster !== undefined && isOldKubernetes(sourceCluster.version) ? [OLD_KUBERNETES] : []),
    ...addresses(known),
    ...versions(sourceCluster?.kubevirt, targetCluster?.kubevirt),
  ];
}

interface Known {
  readonly name: string;
  readonly kubevirt: KubeVirt | undefined;
}

const gate = ({ name, kubevirt }: Known): Finding[] =>
  canMigrateLive(kubevirt)
    ? []
    : [
        critical(LIVE_CONDITION.migrationTypeNotValid, 'NotSupported', {
          message: '`live` migration from the source provider is not supported.',
          suggestion: `Add DecentralizedLiveMigration to the featureGates of KubeVirt on the ${name}, which must be 1.6 or later.`,
        }),
      ];

const OLD_KUBERNETES = critical(LIVE_CONDITION.unsupportedVersion, 'NotSupported', {
  message: 'Source version is not supported.',
  suggestion: 'Update the source to Kubernetes 1.26 or later.',
});

/** A warning about clusters without an address. KubeVirt has none for a moment each time that the controller is replaced. */
const addresses = (known: readonly Known[]): Finding[] =>
  findingOf(
    known
      .filter(({ kubevirt }) => canMigrateLive(kubevirt))
      .filter(({ kubevirt }) => (kubevirt?.status?.synchronizationAddresses ?? []).length === 0)
      .map(({ name }) => name),
    {
      ...{ type: LIVE_CONDITION.noAddress, category: 'Warn', reason: 'NotFound' },
      message: 'The synchronization controller of KubeVirt has no address.',
      suggestion: 'See its pods virt-synchronization-controller there: no VM moves before.',
    },
  );

/** A problem of the two versions: guests go to newer launchers in each update of KubeVirt, and never to older ones. */
function versions(source: KubeVirt | undefined, target: KubeVirt | undefined): Finding[] {
  const [from, to] = [versionOf(source), versionOf(target)];
  if (!isOlder(to, from)) return [];
  return [
    {
      ...{ type: LIVE_CONDITION.versionsDiffer, category: 'Warn', reason: 'NotSupported' },
      message: `KubeVirt ${to ?? ''} of the target is older than ${from ?? ''} of the source.`,
      suggestion: 'Update the target first: an older launcher may refuse the guest.',
    },
  ];
}
