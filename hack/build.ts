import { build, type BuildOptions, type Plugin } from 'esbuild';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newScript, runScript } from './script.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(root, 'dist');

/** The entry points in the image: the host, the plain Knative function for `func`, the guard, and the watcher of other clusters. */
const PROCESSES = {
  functions: 'functions/main.ts',
  function: 'functions/index.ts',
  guard: 'webhook/main.ts',
  'live-watcher': 'functions/live/watcher/main.ts',
};

/** The kubectl plugin: two files for a folder of the PATH, which kubectl finds by these names. The launcher is the start of the first one. */
const PLUGIN = {
  entry: 'kubectl/main.ts',
  launcher: 'kubectl/launcher.sh',
  completion: 'kubectl/kubectl_complete-vmmrq',
};

/**
 * Bundles each entry point to <outdir>/<its name>.mjs, with THIRD-PARTY-LICENSES beside them, and resolves to the folder, which
 * contains no other file. The output is the same for every folder, because esbuild's names and maps refer to dist. The bundle keeps
 * class names: faas-js-runtime recognizes a reply by its class name (facts/knative.md §3.2).
 */
export async function bundle(
  entryPoints: Readonly<Record<string, string>> = PROCESSES,
  outdir: string = DIST,
): Promise<string> {
  await bundleInto(outdir, {
    entryPoints,
    outdir: DIST,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    keepNames: true,
    sourcemap: 'linked',
  });
  return outdir;
}

/** Bundles the kubectl plugin to a folder of its own, as `kubectl-vmmrq` and `kubectl_complete-vmmrq`, with THIRD-PARTY-LICENSES. */
export async function bundlePlugin(outdir: string = join(DIST, 'kubectl')): Promise<string> {
  const file = 'kubectl-vmmrq';
  await bundleInto(
    outdir,
    { entryPoints: [PLUGIN.entry], outfile: join(outdir, file), minifySyntax: true },
    await launcher(),
  );
  await chmod(join(outdir, file), 0o755);
  await copyFile(join(root, PLUGIN.completion), join(outdir, basename(PLUGIN.completion)));
  return outdir;
}

/**
 * The first lines of the plugin: a program for the shell, and a comment for Node. Its oldest Node is that of package.json, whose newest is not
 * the plugin's: with Node 25 and 26 it does the same. Throws if engines.node names no oldest one.
 */
async function launcher(): Promise<string> {
  const script = await readFile(join(root, PLUGIN.launcher), 'utf8');
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const [, oldest] = /^>=(\d+)\b/.exec(engines.node) ?? [];
  if (oldest === undefined) throw new Error(`package.json: engines.node begins with no >=N: ${engines.node}`);
  return `#!/bin/sh\n':' /*\n${script.replaceAll('OLDEST', oldest)}*/\n`;
}

/**
 * Node's own modules without an import statement, which reads every export of them: of node:http also those that load undici, half of a
 * cold start and 8 MiB (nodejs/node#59686).
 */
const BUILTINS_WITHOUT_IMPORT: Plugin = {
  name: 'builtins-without-import',
  setup(built) {
    const namespace = 'builtin';
    built.onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace } : undefined,
    );
    built.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** `start`: what comes before all code. */
async function bundleInto(outdir: string, options: BuildOptions, start = ''): Promise<void> {
  await mkdir(outdir, { recursive: true });
  // Not its folders: that of the plugin may be on somebody's PATH.
  const old = (await readdir(outdir, { withFileTypes: true })).filter((entry) => entry.isFile());
  await Promise.all(old.map(({ name }) => rm(join(outdir, name))));
  const { metafile, outputFiles } = await build({
    ...options,
    absWorkingDir: root,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    plugins: [BUILTINS_WITHOUT_IMPORT],
    legalComments: 'none',
    metafile: true,
    // debug (a dependency of express) tries to load it, but only development tools install it.
    external: ['supports-color'],
    logLevel: 'warning',
    // CommonJS dependencies in an ES module bundle still load Node's own modules by require.
    banner: {
      js: `${start}import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);`,
    },
  });
  for (const { path, contents } of outputFiles) await writeFile(join(outdir, basename(path)), contents);
  const outputs = Object.values(metafile.outputs);
  // Unused files are inputs of the build too, but only files with bytes in an output are distributed.
  const inputs = outputs.flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const packages = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[0] ?? []));
  const licenses = await Promise.all([...packages].toSorted().map(licenseOf));
  await writeFile(join(outdir, 'THIRD-PARTY-LICENSES'), licenses.join('\n'));
}

/** The folder of the innermost package that a file belongs to, with its scope. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/** The licence and notice files of a package under its name; esbuild's legalComments has comments only, not these. */
async function licenseOf(path: string): Promise<string> {
  const folder = join(root, path);
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  ) as Record<string, string>;
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice)/i.test(file)).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return [`==== ${name} ${version} (${license})`, ...texts.map((text) => text.trim()), ''].join('\n\n');
}

async function main(): Promise<void> {
  await bundle();
  await bundlePlugin();
}

if (import.meta.main)
  await runScript(newScript('build', 'Bundles the processes and the kubectl plugin into dist.'), main);
