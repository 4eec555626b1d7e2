import { build } from 'esbuild';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Bundles what runs in the image: dist/functions.mjs (the host), dist/guard.mjs, and dist/function.mjs (the bare Knative
 * function for `func`). Names are kept: faas-js-runtime knows a reply by its class name (facts/knative.md §3.2).
 */
export async function bundle(): Promise<string> {
  const outdir = `${root}dist`;
  await rm(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: {
      functions: 'functions/main.ts',
      function: 'functions/index.ts',
      guard: 'webhook/main.ts',
    },
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
    logLevel: 'warning',
    // CommonJS dependencies in an ES module bundle still ask for Node's own modules by require.
    banner: {
      js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);",
    },
  });
  return outdir;
}

if (import.meta.main) await bundle();
