import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeTar, type Entry } from './archive.ts';
import { HOME } from './application.ts';
import { USER } from './root-filesystem.ts';
import type { Platform } from './platforms.ts';
import { NAME } from './sbom.ts';

/** OCI image spec 1.1, as much of it as we use. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: 'linux'; readonly architecture: Platform['architecture'] };
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Index {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
}

export interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ImageConfig {
  readonly architecture: Platform['architecture'];
  readonly os: 'linux';
  readonly created: string;
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly WorkingDir: string;
    readonly ExposedPorts: Readonly<Record<string, object>>;
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history: readonly { readonly created: string; readonly created_by: string }[];
}

/** What runs in a container of it. */
export type Start = Pick<ImageConfig['config'], 'Entrypoint' | 'Cmd' | 'WorkingDir'>;

const OUR_START: Start = { Entrypoint: ['node'], Cmd: ['dist/functions.mjs'], WorkingDir: `/${HOME}` };

const INDEX = 'application/vnd.oci.image.index.v1+json';
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

export interface Layer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
  /** Bytes, of the archive. */
  readonly unpacked: number;
  readonly what: string;
}

/** An image on disk as `skopeo copy oci:<folder>`, `crane push` and `podman load` take it. */
export class Layout {
  readonly folder: string;
  /** Seconds: of every file, and of the image. */
  readonly #epoch: number;
  readonly #version: string;

  /** Empties the folder. */
  constructor(folder: string, { version, epoch }: { version: string; epoch: number }) {
    this.folder = folder;
    this.#version = version;
    this.#epoch = epoch;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
    writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  }

  async addLayer(what: string, entries: readonly Entry[]): Promise<Layer> {
    const unnamed = join(this.folder, `blobs/sha256/.${what}`);
    const { tar, gzip, size, unpacked } = await writeTar(entries, unnamed, this.#epoch);
    renameSync(unnamed, join(this.folder, 'blobs/sha256', gzip));
    return {
      descriptor: { mediaType: LAYER, digest: `sha256:${gzip}`, size },
      diffId: `sha256:${tar}`,
      unpacked,
      what,
    };
  }

  addImage(
    { architecture }: Platform,
    layers: readonly Layer[],
    { Entrypoint, Cmd, WorkingDir }: Start = OUR_START,
  ): Descriptor {
    const created = new Date(this.#epoch * 1_000).toISOString();
    const config: ImageConfig = {
      architecture,
      os: 'linux',
      created,
      config: {
        User: `${String(USER)}:${String(USER)}`,
        Env: ['PATH=/usr/bin', 'NODE_ENV=production'],
        Entrypoint,
        Cmd,
        WorkingDir,
        ExposedPorts: { '8080/tcp': {}, '8443/tcp': {} },
        Labels: this.#annotations(),
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ what }) => ({ created, created_by: `npm run image: ${what}` })),
    };
    const manifest: Manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: this.#add(CONFIG, config),
      layers: layers.map(({ descriptor }) => descriptor),
      annotations: this.#annotations(),
    };
    return { ...this.#add(MANIFEST, manifest), platform: { os: 'linux', architecture } };
  }

  /** The image of all platforms; its digest is what a reference pins. */
  finish(manifests: readonly Descriptor[]): Descriptor {
    const image = this.#add(INDEX, index(manifests));
    const named = { ...image, annotations: { 'org.opencontainers.image.ref.name': this.#version } };
    writeFileSync(join(this.folder, 'index.json'), JSON.stringify(index([named])));
    return image;
  }

  #annotations(): Record<string, string> {
    return {
      'org.opencontainers.image.title': NAME,
      'org.opencontainers.image.version': this.#version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.description':
        'Lets quota-blocked KubeVirt live migrations through: the Knative functions and the guard.',
    };
  }

  #add(mediaType: string, document: object): Descriptor {
    const content = Buffer.from(JSON.stringify(document));
    const sum = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(this.folder, 'blobs/sha256', sum), content);
    return { mediaType, digest: `sha256:${sum}`, size: content.length };
  }
}

/** The digest of the image in a layout. */
export function digestOf(layout: string): string {
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as Index;
  const [image] = manifests;
  if (image === undefined || manifests.length > 1)
    throw new Error(`${layout} holds ${String(manifests.length)} images, not one`);
  return image.digest;
}

const index = (manifests: readonly Descriptor[]): Index => ({
  schemaVersion: 2,
  mediaType: INDEX,
  manifests,
});
