import builder from 'junit-report-builder';

/** One test case of the report. */
export interface Case {
  readonly name: string;
  readonly seconds: number;
  /** Left out: it passed. */
  readonly failure?: string | undefined;
}

/** A JUnit report, as CI servers read it. */
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
