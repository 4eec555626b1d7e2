/** What a VMI's status says of its claims (facts/cross-cluster.md C1). Pure. */
import type { FullClaim } from '../objects/objects.ts';
import type { ClaimInfo, MigratedVolume, Vmi } from '../objects/types.ts';

/** Of the claim with this name; undefined: it is not there (yet). */
export function claimInfoOf(
  claimName: string | undefined,
  claims: readonly FullClaim[],
): ClaimInfo | undefined {
  const claim = claims.find(({ metadata }) => metadata.name === claimName);
  if (claim === undefined) return undefined;
  const { accessModes, volumeMode, resources } = claim.spec;
  const { capacity } = claim.status ?? {};
  return {
    claimName: claim.metadata.name,
    ...(accessModes === undefined ? {} : { accessModes }),
    ...(capacity === undefined ? {} : { capacity }),
    ...(resources?.requests === undefined ? {} : { requests: resources.requests }),
    ...(volumeMode === undefined ? {} : { volumeMode }),
  };
}

/** All volumes on claims. The source says both parts of itself, and learns the target's by the relay. */
export const migratedVolumesOf = (
  { spec }: Vmi,
  claims: readonly FullClaim[],
  parts: 'both' | 'destination',
): MigratedVolume[] =>
  spec.volumes.flatMap(({ name, persistentVolumeClaim, dataVolume }) => {
    const info = claimInfoOf(persistentVolumeClaim?.claimName ?? dataVolume?.name, claims);
    if (info === undefined) return [];
    return [
      {
        volumeName: name,
        destinationPVCInfo: info,
        ...(parts === 'both' ? { sourcePVCInfo: info } : {}),
      },
    ];
  });
