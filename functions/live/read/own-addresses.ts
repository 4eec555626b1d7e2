import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** How IPv4 is written in IPv6: mapped (RFC 4291), by NAT64 (RFC 6052), and in older systems. A socket to it may reach the IPv4 address. */
const IPV4_IN_IPV6 = new BlockList();
for (const before of ['::ffff:0:0', '64:ff9b::', '::']) IPV4_IN_IPV6.addSubnet(before, 96, 'ipv6');

/** Returns the IPv4 address that is written as an IPv6 address; any other address unchanged. */
export function withoutIpv6Form(address: string): string {
  if (isIP(address) !== 6 || !IPV4_IN_IPV6.check(address, 'ipv6')) return address;
  // Hexadecimal, in the shortest form (RFC 5952).
  const [, text = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  const [high = '', low = ''] = text.replace(/::$/, '::0').replace('::', ':0:').split(':').slice(-2);
  const bytes = Buffer.from([high, low].map((group) => group.padStart(4, '0')).join(''), 'hex');
  return bytes.join('.');
}

/** Loopback, link-local and unspecified: the services there are for the machine itself, such as a cloud's metadata. */
const OWN = new BlockList();
OWN.addAddress('::1', 'ipv6');
OWN.addSubnet('fe80::', 10, 'ipv6');
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
] as const) {
  // `::ffff:0:0/96` matches by itself; the others are how NAT64 (RFC 6052) and older systems (RFC 4291) write IPv4 in IPv6.
  OWN.addSubnet(address, prefix);
  for (const before of ['64:ff9b::', '::']) OWN.addSubnet(`${before}${address}`, 96 + prefix, 'ipv6');
}

export const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Whether the address is one of this machine. */
export const isOwnAddress = (address: string): boolean => OWN.check(address, familyOf(address));

/** Whether a Provider's server must not be at the address. Rejects if that cannot be read. */
export type IsRefused = (address: string) => Promise<boolean>;

/**
 * Looks names up as node:dns does, but finds no address that is refused: the owner of a name can give it any address, also between two
 * requests.
 */
export const lookupOthers =
  (isRefused: IsRefused): LookupFunction =>
  (hostname, options, answer) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        answer(error, []);
        return;
      }
      othersOf(addresses, isRefused).then(
        (others) => {
          const [first] = others;
          if (first === undefined) answer(refused(hostname), []);
          else if (options.all === true) answer(null, others);
          else answer(null, first.address, first.family);
        },
        (cause: unknown) => answer(new Error(`${hostname} cannot be checked`, { cause }), []),
      );
    });
  };

async function othersOf(addresses: readonly LookupAddress[], isRefused: IsRefused): Promise<LookupAddress[]> {
  const refusals = await Promise.all(addresses.map(({ address }) => isRefused(address)));
  return addresses.filter((_, index) => refusals[index] !== true);
}

export const refused = (hostname: string): Error =>
  new Error(`${hostname} is an address of this machine or of a pod or Service here: it is not asked`);
