const SLOWEST = 10;
const seconds = ({ perfStats: { start, end } }) => (end - start) / 1_000;

/** Jest reporter: the slowest files, and as the very last line how many tests passed, easy to find for a person and for CI. */
export default class ClosingLines {
  #isWatching;

  constructor({ watch, watchAll }) {
    this.#isWatching = watch || watchAll;
  }

  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A suite that could not even be loaded has no tests, and must count all the same.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    const slowest = results.testResults
      .toSorted((one, other) => seconds(other) - seconds(one))
      .slice(0, SLOWEST)
      .map(
        (file) =>
          `${seconds(file).toFixed(1).padStart(7)} s  ${file.testFilePath.replace(`${process.cwd()}/`, '')}`,
      );
    // Jest's own summary comes after every reporter: this has to come after that.
    const say = () => console.log(['The slowest:', ...slowest, line].join('\n'));
    if (this.#isWatching) say();
    else process.once('exit', say);
  }
}
