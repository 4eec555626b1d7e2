import { existsSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SLOWEST = 10;
/** Each worker appends a byte for each control plane that it starts for its files (kept.ts). */
const STARTED = join(tmpdir(), `mtq-started-control-planes-${process.pid}`);
const seconds = ({ perfStats: { start, end } }) => (end - start) / 1_000;

/**
 * Jest reporter: prints the slowest files, how many shared control planes started, and as the last line the number of passed
 * tests, for readers and CI.
 */
export default class ClosingLines {
  #isWatching;

  constructor({ watch, watchAll }) {
    this.#isWatching = watch || watchAll;
    // The workers inherit it.
    process.env.STARTED_CONTROL_PLANES = STARTED;
  }

  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A suite that fails to load has no tests, but must count as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    const slowest = results.testResults
      .toSorted((one, other) => seconds(other) - seconds(one))
      .slice(0, SLOWEST)
      .map(
        (file) =>
          `${seconds(file).toFixed(1).padStart(7)} s  ${file.testFilePath.replace(`${process.cwd()}/`, '')}`,
      );
    const controlPlanes = existsSync(STARTED)
      ? [`${statSync(STARTED).size} shared control planes started`]
      : [];
    rmSync(STARTED, { force: true });
    // Jest prints its own summary after every reporter, and this line must come after it.
    const say = () => console.log(['The slowest:', ...slowest, ...controlPlanes, line].join('\n'));
    if (this.#isWatching) say();
    else process.once('exit', say);
  }
}
