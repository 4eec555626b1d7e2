import { build } from 'esbuild';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

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

/** The same, and what went into it. */
export async function bundleOf(
  entryPoints: Readonly<Record<string, string>> = PROCESSES,
  outdir = `${root}dist`,
): Promise<Bundle> {
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
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
  const outputs = Object.values(metafile.outputs);
  // Only what is really there: a file of which nothing is used is an input of the build, too.
  const inputs = outputs.flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  return { folder: outdir, inputs: [...new Set(inputs)] };
}

if (import.meta.main) await bundle();
