import { describeBlocking, sumOf, type Amounts } from '../quota/charged.ts';
import { blockingOf } from '../quota/headroom.ts';
import { KUBEVIRT } from '../names.ts';
import type {
  Migration,
  PersistentVolumeClaim,
  ResourceQuota,
  ScopeSelectorTerm,
  VirtualMachineInstance,
} from '../objects.ts';
import { parseQuantity } from '../quantity.ts';
import type { LauncherRules } from '../snapshot.ts';
import { scopeTermsOf } from '../quota/scopes.ts';

const TRACKING: readonly (string | undefined)[] = ['Initializing', 'Enabled'];

/**
 * The VMI keeps its TPM, its EFI or what backups track on a volume (backend storage): a migration may need a second one of these
 * (facts/kubevirt.md §2.2; kubevirt pkg/storage/cbt, HasCBTStateEnabled).
 */
export const keepsState = (vmi: VirtualMachineInstance): boolean =>
  keepsFirmware(vmi) || TRACKING.includes(vmi.status?.changedBlockTracking?.state);

function keepsFirmware({ spec }: VirtualMachineInstance): boolean {
  const { devices, firmware } = spec?.domain ?? {};
  return devices?.tpm?.persistent === true || firmware?.bootloader?.efi?.persistent === true;
}

/** The claims of a namespace, and the class that KubeVirt's CR gives those that keep the state of VMs. */
interface StateClaims extends Pick<LauncherRules, 'stateStorageClass'> {
  readonly claims: readonly PersistentVolumeClaim[];
}

interface Charged extends StateClaims {
  readonly quotas: readonly ResourceQuota[];
}

/** What the quotas lack for the volume claim that virt-controller creates just before the target pod; '' : nothing, as far as is known. */
export function claimShortfall(
  migration: Migration,
  vmi: VirtualMachineInstance,
  { quotas, ...now }: Charged,
): string {
  const claim = claimToMake(migration, vmi, now);
  return claim === undefined ? '' : missingForClaims([claim], quotas);
}

/** The same for the least that this claim can be: without a default class that may be another one by now, and without a StorageProfile. */
export function leastClaimShortfall(
  migration: Migration,
  vmi: VirtualMachineInstance,
  { claims, quotas, stateStorageClass }: Charged,
): string {
  const source = claimToCopy(migration, vmi, claims);
  return source === undefined ? '' : missingForClaims([stateClaim(stateStorageClass)], quotas);
}

/**
 * The volume claim that virt-controller creates just before the target pod; undefined: none. It has the class of KubeVirt's CR, or of
 * today's default: most often still that of the VM's own claim. Of the same class it has the same size, which a StorageProfile may have
 * raised (docs/facts/kubevirt.md §2.2).
 */
export function claimToMake(
  migration: Migration,
  vmi: VirtualMachineInstance,
  { claims, stateStorageClass }: StateClaims,
): ClaimSize | undefined {
  const source = claimToCopy(migration, vmi, claims);
  const isLike = stateStorageClass === undefined || stateStorageClass === source?.spec.storageClassName;
  return source === undefined || isLike ? source : stateClaim(stateStorageClass);
}

/** A claim, as far as quotas look at it. */
export type ClaimSize = Pick<PersistentVolumeClaim, 'spec'>;

/** A claim of this size. */
export const claimOfSize = (storage: string, storageClassName?: string): ClaimSize => ({
  spec: { ...(storageClassName && { storageClassName }), resources: { requests: { storage } } },
});

/**
 * What KubeVirt makes to keep the state of a VMI (docs/facts/kubevirt.md §2.2). It may be larger by its StorageProfile, and of which
 * class it is only that KubeVirt knows.
 */
export const STATE_CLAIM = claimOfSize('10Mi');

/** The same with the class that KubeVirt's CR gives it; undefined: today's default class, which is not known here. */
export const stateClaim = (storageClass: string | undefined): ClaimSize =>
  storageClass === undefined ? STATE_CLAIM : claimOfSize('10Mi', storageClass);

/** What the quotas lack for claims like these, in words; '': nothing. */
export function missingForClaims(claims: readonly ClaimSize[], quotas: readonly ResourceQuota[]): string {
  const need = sumOf(claims.map(claimUsage));
  return quotas
    .filter(coversClaims)
    .flatMap((quota) => blockingOf(quota, need, new Map()))
    .map(describeBlocking)
    .join('; ');
}

/**
 * The VM's own claim, where the target needs another: only one node may use it, and this migration has no claim yet (kubevirt
 * pkg/storage/backend-storage, PVCForVMI and PVCForMigrationTarget: identified by their labels).
 */
export function claimToCopy(
  { metadata, spec }: Migration,
  vmi: VirtualMachineInstance,
  claims: readonly PersistentVolumeClaim[],
): PersistentVolumeClaim | undefined {
  if (!keepsState(vmi)) return undefined;
  if (claims.some(({ metadata: { labels } }) => labels?.[KUBEVIRT.migrationName] === metadata.name))
    return undefined;
  return claims.find(
    (claim) =>
      claim.metadata.labels?.[KUBEVIRT.stateOf] === spec.vmiName &&
      claim.spec.accessModes?.includes('ReadWriteMany') !== true,
  );
}

/** Whether a quota counts claims under this key: how many there are and what they hold, in all or by class. */
export const isClaimed = (key: string): boolean =>
  /^(count\/|.+\.storageclass\.storage\.k8s\.io\/)?persistentvolumeclaims$|(^|\/)requests\.storage$/.test(
    key,
  );

/** What a claim like this is charged (kubernetes pkg/quota/v1/evaluator/core/persistent_volume_claims.go). */
export function claimUsage({ spec }: ClaimSize): Amounts {
  const one = parseQuantity('1');
  const storage = parseQuantity(spec.resources?.requests?.['storage'] ?? '0');
  const usage = new Map([
    ['persistentvolumeclaims', one],
    ['count/persistentvolumeclaims', one],
    ['requests.storage', storage],
  ]);
  if (spec.storageClassName === undefined) return usage;
  const ofClass = `${spec.storageClassName}.storageclass.storage.k8s.io`;
  return usage.set(`${ofClass}/persistentvolumeclaims`, one).set(`${ofClass}/requests.storage`, storage);
}

/**
 * Whether a quota counts claims of KubeVirt and CDI. No claim has a scope of pods, and these have no VolumeAttributesClass (kubernetes 1.36
 * pkg/quota/v1/evaluator/core/persistent_volume_claims.go, pvcMatchesScopeFunc).
 */
export const coversClaims = (quota: ResourceQuota): boolean => scopeTermsOf(quota).every(matchesNoClass);

const matchesNoClass = ({ scopeName, operator }: ScopeSelectorTerm): boolean =>
  scopeName === 'VolumeAttributesClass' && ['DoesNotExist', 'NotIn'].includes(operator);
