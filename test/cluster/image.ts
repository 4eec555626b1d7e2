/** Thrown for a missing image, or one that cannot be pulled. */
export class NoImage extends Error {
  override readonly name = 'NoImage';
}

/** The image's name in the manifests, where its tag is invalid on purpose (config/default). */
export const PLACEHOLDER = 'managed-tenant-quota';

export interface Image {
  readonly newName: string;
  readonly newTag?: string;
  readonly digest?: string;
}

// By the distribution project's reference grammar: [host[:port]/]path[:tag][@digest].
const HOST = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?/)';
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const REFERENCE = new RegExp(
  `^(?<newName>${HOST}?${PART}(?:/${PART})*)(?::(?<newTag>\\w[\\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
);

/** Parses "registry.example/mtq:1.2" for kustomize's `images`. Throws NoImage with instructions. */
export function parseImage(text: string | undefined): Image {
  if (text === undefined || text === '') {
    throw new NoImage(
      'IMAGE is not set, and no image is published yet: build one (npm run image), push it, and say where it is:\n' +
        '  IMAGE=registry.example/mtq:0.1.0 npm run manifests',
    );
  }
  const parts = REFERENCE.exec(text)?.groups;
  if (parts?.['newName'] === undefined) throw new NoImage(`IMAGE is no image reference: ${text}`);
  const { newName, newTag, digest } = parts;
  if (newTag === undefined && digest === undefined) {
    throw new NoImage(
      `IMAGE names no version (${text}:<tag>, or @sha256:<digest>): latest is another one tomorrow`,
    );
  }
  return {
    newName,
    ...(newTag === undefined ? {} : { newTag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** As a container names it. */
export const textOf = ({ newName, newTag, digest }: Image): string =>
  [
    newName,
    ...(newTag === undefined ? [] : [`:${newTag}`]),
    ...(digest === undefined ? [] : [`@${digest}`]),
  ].join('');
