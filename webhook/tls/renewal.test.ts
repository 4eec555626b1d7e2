import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { needsRenewal, SERVING_NAMES, type Certificates, type Renewal } from './renewal.ts';
import type { KeyPair } from '../../functions/server/serve.ts';
import { issueAuthority, issueServing, type Validity } from './x509.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;
const NOTHING: KeyPair = { cert: '', key: '' };

/** A validity in days relative to NOW. */
const days = (from: number, to: number): Validity => ({
  notBefore: new Date(NOW.getTime() + from * DAY_MS),
  notAfter: new Date(NOW.getTime() + to * DAY_MS),
});

const authority = issueAuthority(days(-1, 365));
const serving = issueServing(SERVING_NAMES, days(-1, 89), authority);
const other = issueAuthority(days(-1, 365));

const withServing = (changed: Partial<KeyPair>): Certificates => ({
  authority,
  serving: { ...serving, ...changed },
});
const withAuthority = (validity: Validity): Certificates => {
  const short = issueAuthority(validity);
  return { authority: short, serving: issueServing(SERVING_NAMES, days(-1, 89), short) };
};
const served = (validity: Validity): Certificates =>
  withServing(issueServing(SERVING_NAMES, validity, authority));
const cut = (pem: string): string => pem.slice(0, -60);

describe('needsRenewal', () => {
  test.each<[string, Certificates, Renewal | undefined]>([
    ['a valid certificate', { authority, serving }, undefined],
    ['a third of the validity is left, and a minute', served(days(-60, 30 + 1 / 1440)), undefined],
    [
      'the authority has no key, but needs to sign nothing',
      { authority: { ...authority, key: '' }, serving },
      undefined,
    ],

    [
      'an empty Secret',
      { authority: NOTHING, serving: NOTHING },
      { renew: 'authority', problem: 'Unparsable' },
    ],
    [
      'half an authority',
      { authority: { ...authority, cert: cut(authority.cert) }, serving },
      { renew: 'authority', problem: 'Unparsable' },
    ],
    ['an expired authority', withAuthority(days(-10, 0)), { renew: 'authority', problem: 'Expired' }],
    ['an authority near its end', withAuthority(days(-20, 9)), { renew: 'authority', problem: 'Expiring' }],
    [
      'an authority that is not valid yet',
      withAuthority(days(1, 9)),
      { renew: 'authority', problem: 'NotYetValid' },
    ],

    ['no certificate', { authority, serving: NOTHING }, { renew: 'serving', problem: 'Unparsable' }],
    [
      'half a certificate',
      withServing({ cert: cut(serving.cert) }),
      { renew: 'serving', problem: 'Unparsable' },
    ],
    ['half a key', withServing({ key: cut(serving.key) }), { renew: 'serving', problem: 'Unparsable' }],
    [
      'the key of another certificate',
      withServing({ key: other.key }),
      { renew: 'serving', problem: 'KeyMismatch' },
    ],
    [
      "another authority's signature",
      withServing(issueServing(SERVING_NAMES, days(-1, 89), other)),
      { renew: 'serving', problem: 'NotIssuedByAuthority' },
    ],
    [
      'names of another Service',
      withServing(issueServing(['mtq-guard.elsewhere.svc'], days(-1, 89), authority)),
      { renew: 'serving', problem: 'WrongNames' },
    ],
    [
      'a certificate that expires this moment',
      served(days(-90, 0)),
      { renew: 'serving', problem: 'Expired' },
    ],
    ['a third of the validity is left', served(days(-60, 30)), { renew: 'serving', problem: 'Expiring' }],
    [
      "a certificate from a clock ahead of the guard's",
      served(days(0.1, 90)),
      { renew: 'serving', problem: 'NotYetValid' },
    ],

    [
      'an expired certificate, and the authority has no key',
      { ...served(days(-90, 0)), authority: { ...authority, key: '' } },
      { renew: 'authority', problem: 'Expired' },
    ],
    [
      'an expired certificate, and the authority has the key of another one',
      { ...served(days(-90, 0)), authority: { ...authority, key: other.key } },
      { renew: 'authority', problem: 'Expired' },
    ],
    [
      'an authority that is a serving certificate',
      { authority: serving, serving },
      { renew: 'authority', problem: 'NotIssuedByAuthority' },
    ],
  ])('%s', (_, certificates, want) => {
    expect(needsRenewal(certificates, NOW)).toEqual(want);
  });
});

describe('an issued certificate', () => {
  test('has the expected fields', () => {
    const [top, leaf] = [new X509Certificate(authority.cert), new X509Certificate(serving.cert)];
    expect(top).toMatchObject({ ca: true, subject: 'CN=mtq-guard-ca', issuer: 'CN=mtq-guard-ca' });
    expect(leaf).toMatchObject({
      ca: false,
      subject: 'CN=mtq-guard.mtq-system.svc',
      issuer: 'CN=mtq-guard-ca',
      subjectAltName: 'DNS:mtq-guard.mtq-system.svc, DNS:mtq-guard.mtq-system.svc.cluster.local',
      keyUsage: ['1.3.6.1.5.5.7.3.1'],
    });
    expect(leaf.validFromDate).toEqual(days(-1, 0).notBefore);
    expect(leaf.validToDate).toEqual(days(0, 89).notAfter);
    expect(leaf.verify(top.publicKey)).toBe(true);
    expect(leaf.serialNumber).toMatch(/^40[0-9A-F]{30}$/);
    expect(new X509Certificate(other.cert).serialNumber).not.toBe(top.serialNumber);
  });

  test('has a year with four digits after 2049', () => {
    const long = issueAuthority({ notBefore: NOW, notAfter: new Date('2050-01-01T00:00:00Z') });
    expect(new X509Certificate(long.cert).validToDate).toEqual(new Date('2050-01-01T00:00:00Z'));
  });
});
