import { describe, expect, test } from '@jest/globals';
import { NoImage, parseImage, textOf, type Image } from './image.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('parseImage', () => {
  test.each<[string, Image]>([
    ['mtq:0.1.0', { newName: 'mtq', newTag: '0.1.0' }],
    ['registry.example:5000/team/mtq:v1', { newName: 'registry.example:5000/team/mtq', newTag: 'v1' }],
    [`registry.example/mtq@${DIGEST}`, { newName: 'registry.example/mtq', digest: DIGEST }],
    [`localhost/mtq:1@${DIGEST}`, { newName: 'localhost/mtq', newTag: '1', digest: DIGEST }],
  ])('%s', (text, want) => {
    expect(parseImage(text)).toEqual(want);
    expect(textOf(want)).toBe(text);
  });

  test.each<[string, string | undefined, string]>([
    ['nothing', undefined, 'no image is published yet'],
    ['empty', '', 'no image is published yet'],
    ['the placeholder', 'managed-tenant-quota:{THE-IMAGE-IS-NOT-SET}', 'is no image reference'],
    ['capitals', 'registry.example/MTQ:1', 'is no image reference'],
    ['a space', 'mtq:1 ', 'is no image reference'],
    ['a short digest', 'mtq@sha256:abc', 'is no image reference'],
    ['no version', 'registry.example:5000/mtq', 'names no version'],
  ])('refuses %s, with the reason', (_what, text, why) => {
    expect(() => parseImage(text)).toThrow(NoImage);
    expect(() => parseImage(text)).toThrow(why);
  });
});
