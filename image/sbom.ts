import type { LockedPackage } from './lockfile.ts';
import type { Platform } from './platforms.ts';

export interface Contents {
  readonly version: string;
  readonly platform: Platform;
  readonly node: { readonly version: string };
  readonly debian: readonly { readonly name: string; readonly version: string; readonly sha256: string }[];
  readonly npm: readonly LockedPackage[];
}

/** CycloneDX 1.6, as much of it as we say. */
export interface Sbom {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly type: 'application' | 'container' | 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly cpe?: string;
  readonly licenses?: readonly { readonly expression: string }[];
  readonly hashes?: readonly { readonly alg: 'SHA-256' | 'SHA-512'; readonly content: string }[];
}

export const NAME = 'managed-tenant-quota-knative';

/** What is in the image of one platform. The same contents make the same document: no serial number, no time. */
export function sbomOf({ version, platform, node, debian, npm }: Contents): Sbom {
  const { architecture } = platform;
  const image = component({
    type: 'container',
    name: NAME,
    version,
    purl: `pkg:oci/${NAME}?arch=${architecture}&tag=${version}`,
    licenses: [{ expression: 'Apache-2.0' }],
  });
  const components = [
    component({
      type: 'application',
      name: 'node',
      version: node.version,
      purl: `pkg:npm/${platform.nodePackage}@${node.version}`,
      // Its advisories are Node's, not those of the npm package that brings it.
      cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
      licenses: [{ expression: 'MIT' }],
    }),
    ...debian.map(({ name, version, sha256 }) =>
      component({
        type: 'library',
        name,
        version,
        purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`,
        hashes: [{ alg: 'SHA-256', content: sha256 }],
      }),
    ),
    ...npm.map(npmComponent),
  ];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: image },
    components,
    dependencies: [{ ref: image['bom-ref'], dependsOn: components.map((each) => each['bom-ref']) }],
  };
}

function npmComponent({ name, version, integrity, license }: LockedPackage): Component {
  const sha512 = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
  return component({
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    hashes: [{ alg: 'SHA-512', content: sha512 }],
  });
}

const component = (about: Omit<Component, 'bom-ref'>): Component => ({ ...about, 'bom-ref': about.purl });
