import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderWall } from '../cluster/walls.ts';
import { WALL } from '../support/wall.ts';
import { namedTestProblems, readRows, type Ran } from './incumbent.ts';
import { RIGHTS_FOLDER, rightsProblems, usedIn } from './rights.ts';

/** What Jest tells a reporter at the end (@jest/reporters, AggregatedResult), as far as we look at it. */
interface Results {
  numFailedTests: number;
  numPassedTests: number;
  numTotalTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly testFilePath: string;
  readonly testResults: readonly {
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly status: string;
  }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const INTEGRATION = 'test/integration/*.test.ts';

/**
 * Jest reporter: what can only be judged when everything has run. Each judgement counts as one test more. Of a run of some
 * files or of some names only what it can tell is judged.
 */
export default class WholeRun {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mtq-run-'));
  /** Of the files that ran, every test did (a test that is skipped in its file has no excuse). */
  readonly #allNames: boolean;
  #failure: Error | undefined;

  constructor({ testNamePattern = '' }: { readonly testNamePattern?: string }) {
    this.#allNames = testNamePattern === '';
  }

  /** Before any worker starts: they have the environment from here. */
  onRunStart(): void {
    process.env[RIGHTS_FOLDER] = this.#folder;
  }

  async onRunComplete(_contexts: unknown, results: Results): Promise<void> {
    try {
      this.#judgeNamedTests(results);
      await this.#judgeRights(results);
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  /** Jest fails the run by it. */
  getLastError(): Error | undefined {
    return this.#failure;
  }

  /** Tests are found by the names they ran by: where some names were left out, nothing can be said. */
  #judgeNamedTests(results: Results): void {
    const files = new Set(this.#allNames ? results.testResults.map(fileOf) : []);
    const rows = readRows(join(root, 'docs/incumbent.md'));
    // A file that is not there is wrong in every run.
    const judged = rows.flatMap(({ tests }) => tests.map(({ file }) => file));
    for (const file of judged) if (!existsSync(join(root, file))) files.add(file);
    if (!judged.some((file) => files.has(file))) return;
    const problems = namedTestProblems(rows, results.testResults.flatMap(ranIn), files);
    this.#count('the tests that docs/incumbent.md names are there, and passed', problems, results);
    if (this.#isWhole(results)) {
      const open = rows.filter((row) => row.open).map(({ failure }) => failure);
      process.stdout.write(`whole run: open in docs/incumbent.md: ${open.join(' ') || 'nothing'}\n`);
    }
  }

  /** What failed may have kept somebody from using a right: then it is told, and not counted. */
  async #judgeRights(results: Results): Promise<void> {
    if (!this.#isWhole(results)) return;
    const problems = rightsProblems(await renderWall(WALL), usedIn(this.#folder));
    const what = `installed with ${WALL}: every right that is granted is used, and none is missing`;
    if (results.numFailedTests + results.numRuntimeErrorTestSuites === 0)
      this.#count(what, problems, results);
    else process.stdout.write(`whole run, not counted because tests failed: ${what}\n${listOf(problems)}`);
  }

  /** Every integration test was run. */
  #isWhole({ testResults }: Results): boolean {
    const ran = new Set(testResults.map(fileOf));
    return this.#allNames && globSync(INTEGRATION, { cwd: root }).every((file) => ran.has(file));
  }

  #count(what: string, problems: readonly string[], results: Results): void {
    const passed = problems.length === 0;
    results.numTotalTests += 1;
    if (passed) results.numPassedTests += 1;
    else results.numFailedTests += 1;
    process.stdout.write(`${passed ? 'PASS' : 'FAIL'} whole run: ${what}\n${listOf(problems)}`);
    if (!passed) this.#failure ??= new Error(`whole run: ${what}:\n${listOf(problems)}`);
  }
}

const listOf = (problems: readonly string[]): string => problems.map((problem) => `  ${problem}\n`).join('');

const fileOf = ({ testFilePath }: FileResult): string => relative(root, testFilePath);

const ranIn = (result: FileResult): Ran[] =>
  result.testResults.map(({ ancestorTitles, title, status }) => ({
    file: fileOf(result),
    name: [...ancestorTitles, title].join(' › '),
    status,
  }));
