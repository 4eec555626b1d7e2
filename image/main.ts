/** npm run image: builds the image, with an engine where there is one, else from scratch (docs/image.md). */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildWithEngine, EngineFailed, ENGINES, type Engine } from './engine.ts';
import { buildFromScratch, type BuildOptions, type BuiltImage } from './scratch.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const MIB = 1024 * 1024;
const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: `${root}out/image` },
    with: { type: 'string', default: 'any' },
  },
});

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };
const options: BuildOptions = {
  out: values.out,
  version,
  // reproducible-builds.org/specs/source-date-epoch
  epoch: Number(process.env['SOURCE_DATE_EPOCH'] ?? 0),
};

try {
  await build(values.with);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function build(builder: string): Promise<void> {
  const fromScratch = async (): Promise<void> => tell(await buildFromScratch(options));
  if (builder === 'scratch') return fromScratch();
  const engines = ENGINES.filter((engine) => builder === 'any' || engine === builder);
  if (engines.length === 0) throw new Error(`--with is ${builder}: any, scratch, ${ENGINES.join(', ')}`);
  const layout = await firstThatBuilds(engines);
  if (layout !== undefined) {
    say(`${layout}: an OCI image layout, linux/amd64 and linux/arm64`);
    return;
  }
  if (builder !== 'any') throw new Error(`${builder} did not build the image`);
  say('· no engine: from scratch, with the Node of the npm package and the libraries of Debian');
  await fromScratch();
}

/** undefined: none of them; why not has been said. */
async function firstThatBuilds(engines: readonly Engine[]): Promise<string | undefined> {
  for (const engine of engines) {
    try {
      return await buildWithEngine(engine, options);
    } catch (error) {
      if (!(error instanceof EngineFailed)) throw error;
      say(`· not with ${engine}: ${error.message}`);
    }
  }
  return undefined;
}

function tell({ layout, digest, platforms }: BuiltImage): void {
  for (const { platform, layers, packages } of platforms) {
    const sizes = layers.map(
      ({ what, descriptor, unpacked }) => `${what} ${mib(descriptor.size)} (${mib(unpacked)} unpacked)`,
    );
    const total = layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0);
    say(`linux/${platform.architecture}: ${mib(total)} to pull: ${sizes.join(', ')}`);
    for (const { name, version: found } of packages.filter(({ pinned }) => !pinned)) {
      say(`  ${name} is ${found}, which is not pinned: nobody else builds this digest`);
    }
  }
  say(`${layout}: an OCI image layout, ${digest}`);
  say(
    'To a registry: skopeo copy --all oci:<layout> docker://<repository>:<tag>, or crane push --index <layout> …',
  );
}
