import { describe, expect, test } from '@jest/globals';
import { isOwnAddress, lookupOthers } from './own-addresses.ts';

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
