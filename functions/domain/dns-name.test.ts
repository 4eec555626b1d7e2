import { describe, expect, test } from '@jest/globals';
import { dnsLabel, dnsSubdomain } from './dns-name.ts';

const LONG = 'a'.repeat(63);

describe.each<[string, string, { label: boolean; subdomain: boolean }]>([
  ['one letter', 'a', { label: true, subdomain: true }],
  ['a digit first', '0-a', { label: true, subdomain: true }],
  ['63 characters', LONG, { label: true, subdomain: true }],
  ['64 characters', `${LONG}a`, { label: false, subdomain: true }],
  ['labels with dots', 'quota.of-a.tenant', { label: false, subdomain: true }],
  ['253 characters', `${LONG}.${LONG}.${LONG}.${'a'.repeat(61)}`, { label: false, subdomain: true }],
  ['254 characters', `${LONG}.${LONG}.${LONG}.${'a'.repeat(62)}`, { label: false, subdomain: false }],
  ['nothing', '', { label: false, subdomain: false }],
  ['the folder above', '..', { label: false, subdomain: false }],
  ['a path', 'a/b', { label: false, subdomain: false }],
  ['an encoded path', 'a%2Fb', { label: false, subdomain: false }],
  ['an empty label', 'a..b', { label: false, subdomain: false }],
  ['a hyphen at the end', 'a-', { label: false, subdomain: false }],
  ['a capital letter', 'A', { label: false, subdomain: false }],
  ['a line break at the end', 'a\n', { label: false, subdomain: false }],
  ['a query', 'a?watch=1', { label: false, subdomain: false }],
])('%s', (_, name, want) => {
  test('as a label, and as a subdomain', () => {
    expect({
      label: dnsLabel.safeParse(name).success,
      subdomain: dnsSubdomain.safeParse(name).success,
    }).toEqual(want);
  });
});

test('a long name takes no time that grows with its square', () => {
  expect(dnsSubdomain.safeParse(`${'a-'.repeat(500_000)}!`).success).toBe(false);
});
