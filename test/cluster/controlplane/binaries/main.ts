/** npm run binaries: ensures that the local control plane's binaries exist, and reports progress. */
import { newScript, runScript } from '../../../../hack/script.ts';
import { ensureBinaries } from './ensure.ts';
import { reportProgress } from './report.ts';

const BINARIES = newScript(
  'binaries',
  "Builds the local control plane's binaries that the cache does not have.",
);

async function main(): Promise<void> {
  const { showProgress, end } = reportProgress();
  await ensureBinaries(undefined, showProgress).finally(end);
}

await runScript(BINARIES, main);
