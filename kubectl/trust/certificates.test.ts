import { expect, test } from '@jest/globals';
import { newAuthority } from '../../test/cluster/serving-certificate.ts';
import { certificatesOf, untrusted } from './certificates.ts';

const [ONE, TWO, THREE] = [newAuthority(), newAuthority(), newAuthority()];
const NOW = Date.now();
const YEARS = 100 * 365 * 24 * 3_600_000;

test('a bundle has each certificate once, in order', () => {
  const bundle = `# of the cluster\n${ONE}\n${TWO}${ONE}`;
  expect(certificatesOf(bundle).map(({ pem }) => pem.trim())).toEqual([ONE.trim(), TWO.trim()]);
});

test.each<[string, Parameters<typeof untrusted>, string[]]>([
  ['the other is unknown', [ONE, TWO, NOW], [TWO]],
  ['the other trusts us already', [ONE, TWO + ONE, NOW], [TWO]],
  ['both know all', [ONE + TWO, TWO + ONE, NOW], []],
  ['the other has renewed its own', [ONE + TWO, TWO + THREE, NOW], [THREE]],
  ['it has expired', [ONE, TWO, NOW + YEARS], []],
  ['it is not valid yet', [ONE, TWO, NOW - YEARS], []],
  ['nothing is trusted', ['', TWO, NOW], [TWO]],
])('%s', (_, given, missing) => {
  expect(untrusted(...given).map(({ pem }) => pem.trim())).toEqual(missing.map((pem) => pem.trim()));
});

test('what is no certificate is an error', () => {
  expect(() => certificatesOf('-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----')).toThrow();
});
