import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

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
