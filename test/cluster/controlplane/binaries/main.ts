/** npm run binaries: ensures that the local control plane's binaries exist, and reports progress. */
import { isLeaving } from '../exit.ts';
import { ensureBinaries } from './ensure.ts';
import { reportProgress } from './report.ts';

const { showProgress, end } = reportProgress();
try {
  await ensureBinaries(undefined, showProgress);
} catch (error) {
  if (!isLeaving()) {
    process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
} finally {
  end();
}
