import { expect, test } from '@jest/globals';
import { runClustersDemo } from '../../../hack/demo/clusters/run.ts';
import { STORIES } from '../../../hack/demo/clusters/stories.ts';

test('every move between two clusters ends as its story says, and every check passes', async () => {
  const pieces: string[] = [];

  const ok = await runClustersDemo({ write: (text: string) => void pieces.push(text) });

  const output = pieces.join('');
  expect([ok, output]).toEqual([true, expect.not.stringContaining('✗')]);
  for (const { title } of STORIES) expect(output).toContain(title);
});
