import { expect, test } from '@jest/globals';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { smallCase } from '../seeds/exhaustive.ts';
import { hitsTable } from '../seeds/report.ts';
import { run } from '../world/run.ts';

test('requests that fail for good are counted where they fail, and no plan has them', async () => {
  const broken = { kinds: [VMMRQS.kind], verbs: ['LIST', 'WATCH'], code: 403, at: 0 };
  const { hits, happened, violation } = await run({ ...smallCase(1), broken });

  expect({ happened, violation }).toEqual({ happened: [], violation: undefined });
  expect([...hits.keys()]).toEqual(
    expect.arrayContaining(['broken guard reads', 'broken feasibility reads']),
  );
  expect(hitsTable(hits)).toMatch(/^broken +\d/m);
});
