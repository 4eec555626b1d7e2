import { describe, expect, test } from '@jest/globals';
import { commandsOf, ENGINES } from './engine.ts';

const BUILD = { context: '/out/context', layout: '/out/oci', version: '1.2.3', epoch: 7 };

/** What the engines' manuals say; no engine ran here (docs/image.md). */
describe.each(ENGINES)('%s', (engine) => {
  const { probe, build } = commandsOf(engine, BUILD);
  const words = build.flat();

  test('is asked whether it works before anything is built', () => {
    expect(probe).toEqual([engine, 'info']);
  });

  test('builds both platforms from our Dockerfile and context', () => {
    expect(words[words.indexOf('--platform') + 1]).toBe('linux/amd64,linux/arm64');
    expect(words[words.indexOf('--file') + 1]).toMatch(/\/image\/Dockerfile$/);
    expect(build[0]?.at(-1)).toBe('/out/context');
  });

  test('writes an OCI layout, of the time that it is told', () => {
    const last = build.at(-1)?.join(' ') ?? '';
    expect(last).toMatch(/type=oci,dest=\/out\/oci,tar=false|--all \S+ oci:\/out\/oci:1\.2\.3$/);
    expect(words.join(' ')).toMatch(/SOURCE_DATE_EPOCH=7|--timestamp 7/);
  });
});
