/** One test case of the report. */
export interface Case {
  readonly name: string;
  readonly seconds: number;
  /** Left out: it passed. */
  readonly failure?: string | undefined;
}

/** A JUnit report, as CI servers read it. */
export function junit(suite: string, cases: readonly Case[]): string {
  const failures = cases.filter(({ failure }) => failure !== undefined).length;
  const seconds = cases.reduce((sum, each) => sum + each.seconds, 0);
  const counts = `tests="${String(cases.length)}" failures="${String(failures)}" time="${seconds.toFixed(3)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts}>`,
    ...cases.map((each) => caseOf(suite, each)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function caseOf(suite: string, { name, seconds, failure }: Case): string {
  const attributes = `classname="${escaped(suite)}" name="${escaped(name)}" time="${seconds.toFixed(3)}"`;
  if (failure === undefined) return `    <testcase ${attributes}/>`;
  const [first = ''] = failure.split('\n');
  return [
    `    <testcase ${attributes}>`,
    `      <failure message="${escaped(first)}">${escaped(failure)}</failure>`,
    '    </testcase>',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

/** Characters that XML 1.0 has no way to write are left out. */
const escaped = (text: string): string =>
  text
    // eslint-disable-next-line no-control-regex -- those are the ones
    .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '')
    .replaceAll(/[&<>"\n]/g, (character) => ENTITIES[character] ?? '');
