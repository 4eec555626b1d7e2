import { CLOCKS_APART_MS } from './migration.ts';
import type { Lease } from './objects.ts';

/** virt-controller renews its Lease every two seconds (client-go leaderelection, RetryPeriod). Two renewals are missing by now. */
const SILENT_MS = 4_000 + CLOCKS_APART_MS;

/** When virt-controller last renewed its Lease, milliseconds by its own clock; undefined: not known. */
export function renewedAt(lease: Lease | undefined): number | undefined {
  const at = Date.parse(lease?.spec?.renewTime ?? '');
  return Number.isNaN(at) ? undefined : at;
}

/** Whether virt-controller has stopped to renew its Lease. Without a Lease nothing shows that. `now`: the API server's, milliseconds. */
export const isSilent = (renewed: number | undefined, now: number): boolean =>
  renewed !== undefined && now - renewed > SILENT_MS;

/** Whether the Lease shows that one virt-controller has led from `since` until now, both milliseconds by the API server's clock. */
export function hasLedSince(
  lease: Lease | undefined,
  { since, now }: { since: number; now: number },
): boolean {
  const renewed = renewedAt(lease);
  const acquired = Date.parse(lease?.spec?.acquireTime ?? '');
  return renewed !== undefined && !isSilent(renewed, now) && !(acquired > since + CLOCKS_APART_MS);
}
