import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, type LookupFunction } from 'node:net';

/** Loopback, link-local and unspecified: the services there are for the machine itself, such as a cloud's metadata. */
const OWN = new BlockList();
OWN.addSubnet('0.0.0.0', 8);
OWN.addSubnet('127.0.0.0', 8);
OWN.addSubnet('169.254.0.0', 16);
OWN.addAddress('::', 'ipv6');
OWN.addAddress('::1', 'ipv6');
OWN.addSubnet('fe80::', 10, 'ipv6');

const isOwn = ({ address, family }: LookupAddress): boolean =>
  OWN.check(address, family === 6 ? 'ipv6' : 'ipv4');

/**
 * Looks names up as node:dns does, but finds no address for a name of an own address: the owner of a name can give it any address, also
 * between two requests.
 */
export const lookupOthers: LookupFunction = (hostname, options, answer) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const others = error === null ? addresses.filter((address) => !isOwn(address)) : [];
    const [first] = others;
    if (first === undefined)
      answer(error ?? new Error(`${hostname} is an address of this machine: it is not asked`), []);
    else if (options.all === true) answer(null, others);
    else answer(null, first.address, first.family);
  });
};
