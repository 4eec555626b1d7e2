import builder from 'junit-report-builder';

/** One test case of the report. */
export interface Case {
  readonly name: string;
  readonly seconds: number;
  /** Absent when the case passed. */
  readonly failure?: string | undefined;
}

/** A JUnit report that CI servers can read. */
export function junit(suite: string, cases: readonly Case[]): string {
  const report = builder.newBuilder();
  const testSuite = report.testSuite().name(suite);
  testSuite.time(cases.reduce((sum, { seconds }) => sum + seconds, 0));
  for (const { name, seconds, failure } of cases) {
    const testCase = testSuite.testCase().className(suite).name(name).time(seconds);
    if (failure !== undefined) testCase.failure(failure.split('\n')[0]).stacktrace(failure);
  }
  return report.build();
}
