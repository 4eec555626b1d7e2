import { describe, expect, test } from '@jest/globals';
import { planOf } from './plan.ts';

const HERE = { now: '0.1.0', out: '/out/release' };
const IMAGE = ['--image', 'registry.example:5000/mtq'];

test('a release is tested, and builds its image', () => {
  expect(planOf(['minor', ...IMAGE], HERE)).toEqual({
    version: '0.2.0',
    dryRun: false,
    checks: 'test',
    repository: 'registry.example:5000/mtq',
    built: undefined,
    out: '/out/release',
  });
});

test('a dry run needs no more than the word', () => {
  expect(planOf(['--dry-run'], HERE)).toMatchObject({ version: '0.1.0', dryRun: true, checks: 'verify' });
});

describe('refused:', () => {
  test.each<[string, readonly string[], string]>([
    ['without the tests', ['patch', ...IMAGE, '--checks', 'verify'], 'a release is tested'],
    ['an image that was built before', ['patch', ...IMAGE, '--built', 'out/image'], 'builds its image'],
    ['without a place for the image', ['patch'], '--image is missing'],
    ['an image with a tag', ['--image', 'registry.example:5000/mtq:1'], 'without a tag'],
    ['an image with a digest', ['--image', 'mtq@sha256:00'], 'without a tag'],
    ['an earlier version', ['0.0.1', '--dry-run'], '0.0.1 comes before'],
    ['what is no version', ['soon', '--dry-run'], 'soon is none of'],
    ['two versions', ['1.0.0', '2.0.0', '--dry-run'], 'npm run release'],
    ['checks that there are not', ['--dry-run', '--checks', 'some'], 'npm run release'],
    ['an option that there is not', ['--dry-rum'], '--dry-rum'],
  ])('%s', (_, args, why) => {
    expect(() => planOf(args, HERE)).toThrow(why);
  });
});
