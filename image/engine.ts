import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeApplication } from './application.ts';
import { PLATFORMS } from './platforms.ts';
import type { BuildOptions } from './scratch.ts';
import { NAME } from './sbom.ts';

/** Container engines in the order in which they are asked. */
export const ENGINES = ['docker', 'podman', 'buildah'] as const;
export type Engine = (typeof ENGINES)[number];

/** An engine is not there, or could not build: says which command failed, and what it said. */
export class EngineFailed extends Error {
  override readonly name = 'EngineFailed';
}

type Command = readonly [Engine, ...string[]];

export interface Commands {
  /** Ends with 0 where the engine can build: a client without its daemon cannot. */
  readonly probe: Command;
  /** Build, and write an OCI image layout. */
  readonly build: readonly Command[];
}

export interface EngineBuild {
  readonly context: string;
  /** Where the layout goes. */
  readonly layout: string;
  readonly version: string;
  /** Seconds. */
  readonly epoch: number;
}

const DOCKERFILE = fileURLToPath(new URL('Dockerfile', import.meta.url));

/** What is run, for both platforms at once. */
export function commandsOf(engine: Engine, { context, layout, version, epoch }: EngineBuild): Commands {
  const platforms = PLATFORMS.map(({ architecture }) => `linux/${architecture}`).join(',');
  const source = ['--platform', platforms, '--file', DOCKERFILE];
  const name = `localhost/${NAME}:${version}`;
  if (engine === 'docker') {
    const output = `type=oci,dest=${layout},tar=false,rewrite-timestamp=true`;
    const epochArg = ['--build-arg', `SOURCE_DATE_EPOCH=${String(epoch)}`];
    return {
      probe: ['docker', 'info'],
      build: [['docker', 'buildx', 'build', ...source, ...epochArg, '--output', output, context]],
    };
  }
  return {
    probe: [engine, 'info'],
    build: [
      [engine, 'build', ...source, '--timestamp', String(epoch), '--manifest', name, context],
      [engine, 'manifest', 'push', '--all', name, `oci:${layout}:${version}`],
    ],
  };
}

/** Builds with an engine; resolves to the layout's folder. Rejects with EngineFailed. */
export async function buildWithEngine(
  engine: Engine,
  { out, version, epoch }: BuildOptions,
): Promise<string> {
  const layout = join(out, 'oci');
  const context = join(out, 'context');
  const { probe, build } = commandsOf(engine, { context, layout, version, epoch });
  await run(probe);
  rmSync(out, { recursive: true, force: true });
  await writeApplication(context);
  for (const command of build) await run(command);
  rmSync(context, { recursive: true });
  return layout;
}

/** Rejects with EngineFailed: the end of what it printed is the reason. */
function run([command, ...args]: Command): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let printed = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (printed = (printed + text).slice(-2_000)));
    child.once('error', ({ message }) => reject(new EngineFailed(message)));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new EngineFailed(`${command} ${args[0] ?? ''}: ${printed.trim().split('\n').at(-1) ?? ''}`));
    });
  });
}
