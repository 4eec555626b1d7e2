/** What virt-controller decides on for a VMI, and what it may decide. Pure. */
import type { ResourceQuota } from '../../../../functions/domain/objects.ts';
import type { Configuration, FullClaim } from '../objects/objects.ts';
import type { Release } from '../objects/release.ts';
import type { LauncherPod, Vmi, VmiStatus } from '../objects/types.ts';

export interface VmiView {
  readonly vmi: Vmi;
  /** Source and targets, ended ones too. */
  readonly launchers: readonly LauncherPod[];
  /** The launcher the guest runs in, or is to run in. */
  readonly current: LauncherPod | undefined;
  /** Attachment pods of `current`. */
  readonly attachments: readonly LauncherPod[];
  /** Attachment pods of launchers that have ended. */
  readonly leftovers: readonly LauncherPod[];
  readonly quotas: readonly ResourceQuota[];
  readonly claims: readonly FullClaim[];
  /** The VM that made it is there. */
  readonly hasOwner: boolean;
  readonly configuration: Configuration;
  /** Of this virt-controller. */
  readonly release: Release;
  /** RFC 3339. */
  readonly now: string;
}

/** A JSON merge patch of the VMI or of a pod. */
export type Merge = Record<string, unknown>;

export type VmiDecision =
  | { readonly do: 'wait' }
  | { readonly do: 'create-launcher' }
  | { readonly do: 'create-attachment'; readonly launcher: LauncherPod }
  | { readonly do: 'delete-pods'; readonly pods: readonly LauncherPod[] }
  | { readonly do: 'patch'; readonly merge: Merge }
  | {
      readonly do: 'patch-pod';
      readonly pod: LauncherPod;
      readonly merge: Merge;
      readonly subresource?: 'status';
    };

export const phaseOf = ({ status }: Vmi): string => status?.phase ?? '';

export const enter = (
  vmi: Vmi,
  phase: string,
  now: string,
): Pick<VmiStatus, 'phase' | 'phaseTransitionTimestamps'> => ({
  phase,
  phaseTransitionTimestamps: [
    ...(vmi.status?.phaseTransitionTimestamps ?? []),
    { phase, phaseTransitionTimestamp: now },
  ],
});
