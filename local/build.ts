import { build } from 'esbuild';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(root, 'dist');

/** What runs in the image: the host, the bare Knative function for `func`, and the guard. */
const PROCESSES = {
  functions: 'functions/main.ts',
  function: 'functions/index.ts',
  guard: 'webhook/main.ts',
};

/**
 * Bundles each entry point to <outdir>/<its name>.mjs and resolves to the folder, which holds nothing else. Names are
 * kept: faas-js-runtime knows a reply by its class name (facts/knative.md §3.2).
 */
export async function bundle(
  entryPoints?: Readonly<Record<string, string>>,
  outdir?: string,
): Promise<string> {
  return (await bundleOf(entryPoints, outdir)).folder;
}

export interface Bundle {
  readonly folder: string;
  /** The files that went into it, ours and those of packages, as paths from the top of the repository. */
  readonly inputs: readonly string[];
}

/** The same, and what went into it. The files are the same wherever they go: esbuild's names and maps are of dist. */
export async function bundleOf(
  entryPoints: Readonly<Record<string, string>> = PROCESSES,
  outdir: string = DIST,
): Promise<Bundle> {
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: DIST,
    write: false,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    keepNames: true,
    sourcemap: 'linked',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // CommonJS dependencies in an ES module bundle still ask for Node's own modules by require.
    banner: {
      js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);",
    },
  });
  for (const { path, contents } of outputFiles) await writeFile(join(outdir, basename(path)), contents);
  const outputs = Object.values(metafile.outputs);
  // Only what is really there: a file of which nothing is used is an input of the build, too.
  const inputs = outputs.flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  return { folder: outdir, inputs: [...new Set(inputs)] };
}

if (import.meta.main) await bundle();
