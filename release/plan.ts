import { parseArgs } from 'node:util';
import { nextVersion } from './version.ts';

const USAGE = `npm run release -- [major | minor | patch | 1.2.3] --image REPOSITORY [--dry-run] [--checks test | verify | none] [--out FOLDER]
  the version: that of package.json when left out
  --image    where the image will be pushed, without a tag: the manifests name it
  --dry-run  everything but the commit and the tag; what would be refused is only told
  --checks   npm run …; test when left out, verify in a dry run
  --built    what npm run image made (out/image), instead of building the image
  Less checks than test, and an image that was built before, only in a dry run.`;

/** No release is made of this: says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

export interface Plan {
  readonly version: string;
  readonly dryRun: boolean;
  readonly checks: 'test' | 'verify' | 'none';
  /** Where the image will be: registry and repository, without a tag. */
  readonly repository: string;
  /** What `npm run image` made; undefined: build it. */
  readonly built?: string | undefined;
  readonly out: string;
}

const CHECKS = ['test', 'verify', 'none'] as const;

/** What the arguments ask for. `now` is the version of package.json, `out` where it goes by default. Throws Refused. */
export function planOf(args: readonly string[], { now, out }: { now: string; out: string }): Plan {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      image: { type: 'string' },
      checks: { type: 'string' },
      built: { type: 'string' },
      out: { type: 'string', default: out },
    },
  });
  const dryRun = values['dry-run'];
  const wanted = values.checks ?? (dryRun ? 'verify' : 'test');
  const checks = CHECKS.find((each) => each === wanted);
  if (checks === undefined || positionals.length > 1) throw new Refused(USAGE);
  if (!dryRun) refuseHalfARelease(values);
  return {
    version: nextVersion(now, positionals[0] ?? now),
    dryRun,
    checks,
    // RFC 6761: nobody's.
    repository: repositoryOf(values.image ?? 'registry.example/managed-tenant-quota-knative'),
    built: values.built,
    out: values.out,
  };
}

interface Asked {
  readonly image?: string | undefined;
  readonly checks?: string | undefined;
  readonly built?: string | undefined;
}

function refuseHalfARelease({ image, checks = 'test', built }: Asked): void {
  if (image === undefined) throw new Refused(`--image is missing\n${USAGE}`);
  if (checks !== 'test') throw new Refused('a release is tested: --checks is for dry runs');
  if (built !== undefined) throw new Refused('a release builds its image: --built is for dry runs');
}

/** "host:5000/path", without the tag or digest that it gets from the release. */
function repositoryOf(image: string): string {
  if (/@|:[^/]*$|\s/.test(image) || image === '')
    throw new Refused(`--image is a repository, without a tag or a digest: ${image}`);
  return image;
}
