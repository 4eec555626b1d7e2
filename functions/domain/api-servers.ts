import type { EndpointSlice, Lease } from './objects.ts';

/** The API servers that must prove a lock. */
export interface ApiServers {
  /** URLs such as "https://10.0.0.1:6443". A URL may belong to a load balancer. */
  readonly addresses: readonly string[];
  /** More servers may exist than addresses, so `raise` cannot ask all of them. */
  readonly mayHide: boolean;
}

export interface Published {
  /** EndpointSlices of the Service default/kubernetes, IPv4 and IPv6. */
  readonly slices: readonly EndpointSlice[];
  /** Identity leases of kube-apiservers; undefined: not read. */
  readonly leases: readonly Lease[] | undefined;
  /** Addresses that did not answer. */
  readonly unreachable: ReadonlySet<string>;
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

/**
 * API servers publish their addresses (k8s.io/kubernetes, pkg/controlplane/reconcilers) and an identity lease each (KEP-1965,
 * on by default since 1.26). The lease of a removed server stays for an hour; until then a server counts as hidden.
 */
export function apiServersOf({ slices, leases, unreachable, now }: Published): ApiServers {
  const published = slices.flatMap(addressesOf).filter((address) => !unreachable.has(address));
  const addresses = [...new Set(published)];
  const servers = leases?.filter((lease) => isLive(lease, now)).length ?? 0;
  return { addresses, mayHide: servers === 0 || servers > mostOfOneFamily(addresses) };
}

/** A server with an address of each family is one server. */
function mostOfOneFamily(addresses: readonly string[]): number {
  const ofIpv6 = addresses.filter((address) => address.startsWith('https://[')).length;
  return Math.max(ofIpv6, addresses.length - ofIpv6);
}

const HTTPS_PORT = 443;

function addressesOf({ endpoints, ports }: EndpointSlice): string[] {
  const port = String((ports ?? [])[0]?.port ?? HTTPS_PORT);
  return (endpoints ?? [])
    .flatMap(({ addresses }) => addresses)
    .map((address) => `https://${address.includes(':') ? `[${address}]` : address}:${port}`);
}

const isLive = ({ spec }: Lease, now: number): boolean =>
  Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1_000 > now;
