import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { application } from './application.ts';
import { debianPackages, type DebianPackage } from './debian.ts';
import { Layout, type Descriptor, type Layer } from './layout.ts';
import { nodeFiles } from './node-binary.ts';
import { PLATFORMS, type Platform } from './platforms.ts';
import { baseEntries } from './root-filesystem.ts';
import { sbomOf } from './sbom.ts';

export interface BuildOptions {
  /** Gets `oci/` (an OCI image layout) and sbom-<architecture>.cdx.json; what is there goes. */
  readonly out: string;
  readonly version: string;
  /** Seconds: the time of the image and of every file in it. */
  readonly epoch: number;
  readonly platforms?: readonly Platform[];
}

export interface BuiltPlatform {
  readonly platform: Platform;
  readonly manifest: Descriptor;
  readonly layers: readonly Layer[];
  readonly packages: readonly DebianPackage[];
}

export interface BuiltImage {
  readonly layout: string;
  /** sha256:… of the image of all platforms. */
  readonly digest: string;
  readonly platforms: readonly BuiltPlatform[];
}

/** Builds the image without a container engine and without a base image. Rejects with NoPackage when a library cannot be had. */
export async function buildFromScratch(options: BuildOptions): Promise<BuiltImage> {
  const { out, platforms = PLATFORMS } = options;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const layout = new Layout(join(out, 'oci'), options);
  const bundled = join(out, 'dist');
  const { entries, packages: npm } = await application(bundled);
  const code = await layout.addLayer('application', entries);
  rmSync(bundled, { recursive: true });
  const built: BuiltPlatform[] = [];
  for (const platform of platforms) {
    const node = await nodeFiles(platform);
    const packages = await debianPackages(platform.architecture);
    const base = await layout.addLayer(`base-${platform.architecture}`, await baseEntries(node, packages));
    const layers = [base, code];
    built.push({ platform, manifest: layout.addImage(platform, layers), layers, packages });
    const sbom = sbomOf({ version: options.version, platform, node, debian: packages, npm });
    writeFileSync(
      join(out, `sbom-${platform.architecture}.cdx.json`),
      `${JSON.stringify(sbom, undefined, 2)}\n`,
    );
  }
  const { digest } = layout.finish(built.map(({ manifest }) => manifest));
  return { layout: layout.folder, digest, platforms: built };
}
