import { describe, expect, test } from '@jest/globals';
import { isOwnAddress, lookupOthers, withoutIpv6Form } from './own-addresses.ts';

const look = (hostname: string, all: boolean): Promise<unknown> =>
  new Promise((resolve) => {
    lookupOthers((address) => Promise.resolve(isOwnAddress(address)))(hostname, { all }, (error, address) =>
      resolve(error?.message ?? address),
    );
  });

describe('lookupOthers', () => {
  test.each(['localhost', '127.0.0.1', '::1', '169.254.169.254', '0.0.0.0', 'fe80::1', '::ffff:127.0.0.1'])(
    '%s has no address',
    async (hostname) => {
      expect(await look(hostname, true)).toMatch(/not asked/);
      expect(await look(hostname, false)).toMatch(/not asked/);
    },
  );

  test('another address stays', async () => {
    expect(await look('192.0.2.7', false)).toBe('192.0.2.7');
    expect(await look('192.0.2.7', true)).toEqual([{ address: '192.0.2.7', family: 4 }]);
  });
});

describe('an IPv4 address', () => {
  test.each([
    ['10.96.0.1', '10.96.0.1'],
    ['::ffff:10.96.0.1', '10.96.0.1'],
    ['::FFFF:a60:1', '10.96.0.1'],
    ['0:0:0:0:0:ffff:a60:1', '10.96.0.1'],
    ['::10.96.0.1', '10.96.0.1'],
    ['64:ff9b::10.96.0.1', '10.96.0.1'],
    ['64:ff9b::a60:0', '10.96.0.0'],
    ['::1', '0.0.0.1'],
    ['fd00::a60:1', 'fd00::a60:1'],
    ['64:ff9b:1::a60:1', '64:ff9b:1::a60:1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
  ])('written as %s is %s', (address, plain) => {
    expect(withoutIpv6Form(address)).toBe(plain);
  });
});
