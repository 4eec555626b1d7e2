import { lookup } from 'node:dns';
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

/** Whether the text is an address of this machine, as it is in a URL or looked up. A name is none. */
export function isOwnAddress(text: string): boolean {
  const address = text.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  return family !== 0 && OWN.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Looks names up as node:dns does, but finds no address for a name of an own address: the owner of a name can give it any address, also
 * between two requests.
 */
export const lookupOthers: LookupFunction = (hostname, options, answer) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const others = error === null ? addresses.filter(({ address }) => !isOwnAddress(address)) : [];
    const [first] = others;
    if (first === undefined)
      answer(error ?? new Error(`${hostname} is an address of this machine: it is not asked`), []);
    else if (options.all === true) answer(null, others);
    else answer(null, first.address, first.family);
  });
};
