import { describe, expect, test } from '@jest/globals';
import { junit } from './junit.ts';

describe('junit', () => {
  test('counts the cases, and reports failures with their reasons', () => {
    const report = junit('e2e', [
      { name: 'through', seconds: 1.5 },
      { name: 'not enough', seconds: 2, failure: 'not "in time"\n<spec> & more' },
    ]);
    expect(report).toContain('<testsuite name="e2e" time="3.5" tests="2" failures="1"');
    expect(report).toContain('<testcase classname="e2e" name="through" time="1.5"/>');
    expect(report).toContain('<failure message="not &quot;in time&quot;">');
    expect(report).toContain('<![CDATA[not "in time"\n<spec> & more]]>');
  });

  test('omits characters that XML does not allow', () => {
    expect(junit('e2e', [{ name: 'a\u0000b\u001Bc', seconds: 0 }])).toContain('name="abc"');
  });
});
