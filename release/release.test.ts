import { expect, describe, test } from '@jest/globals';
import { releaseChangelog, UNRELEASED } from './changelog.ts';
import { nextVersion, withVersion } from './version.ts';

describe('the next version', () => {
  test.each([
    ['0.1.0', 'patch', '0.1.1'],
    ['0.1.9', 'minor', '0.2.0'],
    ['0.9.9', 'major', '1.0.0'],
    ['1.2.3', '1.2.10', '1.2.10'],
    ['1.2.3', '1.10.0', '1.10.0'],
    ['1.9.9', '2.0.0', '2.0.0'],
    ['0.1.0', '0.1.0', '0.1.0'],
  ])('after %s, %s: %s', (now, wanted, version) => {
    expect(nextVersion(now, wanted)).toBe(version);
  });

  test.each([
    ['1.2.10', '1.2.9', 'comes before'],
    ['2.0.0', '1.9.9', 'comes before'],
    ['1.2.3', 'v1.2.4', 'no version like'],
    ['1.2.3', '1.2', 'no version like'],
    ['1.2.3', '1.02.4', 'no version like'],
    ['none', 'patch', 'is no version'],
  ])('after %s never %s', (now, wanted, why) => {
    expect(() => nextVersion(now, wanted)).toThrow(why);
  });
});

describe('the version in the files', () => {
  test('package.json says it once, the rest is as it was', () => {
    const text = '{\n  "name": "a",\n  "version": "0.1.0",\n  "type": "module"\n}\n';
    expect(withVersion(text, '0.2.0')).toBe(text.replace('0.1.0', '0.2.0'));
  });

  test('package-lock.json says it twice, and those of the others stay', () => {
    const lock = {
      name: 'a',
      version: '0.1.0',
      packages: { '': { version: '0.1.0' }, 'node_modules/b': { version: '0.1.0' } },
    };
    expect(JSON.parse(withVersion(JSON.stringify(lock), '0.2.0'))).toEqual({
      name: 'a',
      version: '0.2.0',
      packages: { '': { version: '0.2.0' }, 'node_modules/b': { version: '0.1.0' } },
    });
  });
});

describe('the changelog', () => {
  const head = '# Changelog\n\nIn words.\n\n';
  const older = '## 0.1.0 (2026-01-01)\n\n- First.\n';

  test('what was to come is of the version, and above the older ones', () => {
    const { changelog, notes } = releaseChangelog(
      `${head}${UNRELEASED}\n\n- One.\n- Two.\n\n${older}`,
      '0.2.0',
      '2026-02-03',
    );
    expect(changelog).toBe(`${head}${UNRELEASED}\n\n## 0.2.0 (2026-02-03)\n\n- One.\n- Two.\n\n${older}`);
    expect(notes).toBe('- One.\n- Two.');
  });

  test('the first version', () => {
    const { changelog } = releaseChangelog(`${head}${UNRELEASED}\n\n- One.\n`, '0.1.0', '2026-01-01');
    expect(changelog).toBe(`${head}${UNRELEASED}\n\n## 0.1.0 (2026-01-01)\n\n- One.\n`);
  });

  test.each([
    ['nothing was written down', `${head}${UNRELEASED}\n\n${older}`, 'says nothing'],
    ['there is no place for it', `${head}${older}`, 'has no'],
  ])('%s: no release', (_, changelog, why) => {
    expect(() => releaseChangelog(changelog, '0.2.0', '2026-02-03')).toThrow(why);
  });

  test('released once, it has nothing to release', () => {
    const { changelog } = releaseChangelog(`${head}${UNRELEASED}\n\n- One.\n`, '0.1.0', '2026-01-01');
    expect(() => releaseChangelog(changelog, '0.2.0', '2026-02-03')).toThrow('says nothing');
  });
});
