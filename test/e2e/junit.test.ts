import { describe, expect, test } from '@jest/globals';
import { junit } from './junit.ts';

describe('junit', () => {
  test('counts, and says what failed and why', () => {
    const report = junit('e2e', [
      { name: 'through', seconds: 1.5 },
      { name: 'not enough', seconds: 2, failure: 'not "in time"\n<spec> & more' },
    ]);
    expect(report).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuites tests="2" failures="1" time="3.500">',
        '  <testsuite name="e2e" tests="2" failures="1" time="3.500">',
        '    <testcase classname="e2e" name="through" time="1.500"/>',
        '    <testcase classname="e2e" name="not enough" time="2.000">',
        '      <failure message="not &quot;in time&quot;">not &quot;in time&quot;&#10;&lt;spec&gt; &amp; more</failure>',
        '    </testcase>',
        '  </testsuite>',
        '</testsuites>',
        '',
      ].join('\n'),
    );
  });

  test('what XML cannot say is left out', () => {
    expect(junit('e2e', [{ name: 'a\u0000b\u001Bc', seconds: 0 }])).toContain('name="abc"');
  });
});
