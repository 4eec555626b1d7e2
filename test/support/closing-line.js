/** Jest reporter: the last line of a test run, alone and easy to find for a person and for CI. */
export default class ClosingLine {
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A suite that could not even be loaded has no tests, and must count all the same.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    // Jest's own summary comes after every reporter: this has to come after that.
    process.once('exit', () => console.log(line));
  }
}
