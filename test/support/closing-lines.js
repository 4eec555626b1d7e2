const SLOWEST = 10;
const seconds = ({ perfStats: { start, end } }) => (end - start) / 1_000;

/** Jest reporter: prints the slowest files, and as the last line the number of passed tests, for readers and CI. */
export default class ClosingLines {
  #isWatching;

  constructor({ watch, watchAll }) {
    this.#isWatching = watch || watchAll;
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
    // Jest prints its own summary after every reporter, and this line must come after it.
    const say = () => console.log(['The slowest:', ...slowest, line].join('\n'));
    if (this.#isWatching) say();
    else process.once('exit', say);
  }
}
