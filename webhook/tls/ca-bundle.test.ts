import { describe, expect, test } from '@jest/globals';
import { mergeBundle } from './ca-bundle.ts';
import { issueAuthority } from './x509.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const before = (day: string): string =>
  issueAuthority({ notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date(day) }).cert;

const ours = before('2027-11-21T00:00:00Z');
const older = before('2027-01-01T00:00:00Z');
const ended = before('2026-11-21T12:00:00Z');
const bundle = (...certificates: string[]): string => Buffer.from(certificates.join('')).toString('base64');

describe('mergeBundle', () => {
  test.each<[string, string, string]>([
    ['fills an empty bundle', '', bundle(ours)],
    ['keeps ours alone', bundle(ours), bundle(ours)],
    ['appends ours to the previous one', bundle(older), bundle(older, ours)],
    ['in any order', bundle(ours, older), bundle(ours, older)],
    ['drops expired ones', bundle(ended, older), bundle(older, ours)],
    ['drops duplicates', bundle(ours, ours), bundle(ours)],
    [
      'drops text that is no certificate',
      bundle('# a comment\n', older.replaceAll('M', 'A'), ours),
      bundle(ours),
    ],
    ['replaces a bundle without PEM', 'Cg==', bundle(ours)],
  ])('%s', (_, current, want) => {
    expect(mergeBundle({ bundle: current, ca: ours }, NOW)).toBe(want);
  });

  test('keeps only the newest of too many, and ours', () => {
    const issued = Array.from(
      { length: 20 },
      (_, hour) =>
        issueAuthority({
          notBefore: new Date(Date.UTC(2026, 9, 1, hour)),
          notAfter: new Date('2027-11-21T00:00:00Z'),
        }).cert,
    );
    const [oldest = '', ...others] = issued;
    expect(mergeBundle({ bundle: bundle(...issued), ca: oldest }, NOW)).toBe(
      bundle(oldest, ...others.slice(-15)),
    );
  });

  test('keeps every certificate of an authority with several', () => {
    expect(mergeBundle({ bundle: '', ca: older + ours }, NOW)).toBe(bundle(older, ours));
  });
});
