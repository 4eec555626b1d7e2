import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { check } from 'prettier';
import { breakGlassCommand } from '../../webhook/admission/messages.ts';
import { renderAdmission } from '../../hack/manifests/admission/render.ts';

/** The admission manifests are generated: the committed files must equal what the description renders. */

const textIn = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test.each([...renderAdmission()])('%s is what npm run manifests:admission writes', (path, text) => {
  expect(textIn(path)).toBe(text);
});

test.each([...renderAdmission()])('%s is formatted as prettier would', async (_path, text) => {
  expect(await check(text, { parser: 'yaml', singleQuote: true, printWidth: 110 })).toBe(true);
});

test('every policy of config/policies is generated', () => {
  const listed = [...textIn('config/policies/kustomization.yaml').matchAll(/^ {2}- (.*)$/gm)];
  const generated = [...renderAdmission().keys()].filter((path) => path.startsWith('config/policies/'));
  expect(listed.map(([, name]) => `config/policies/${name}`).sort()).toEqual(generated.sort());
});

test('docs/operations.md has the break-glass command', () => {
  expect(textIn('docs/operations.md')).toContain(
    breakGlassCommand({ namespace: 'NAMESPACE', token: 'TOKEN' }),
  );
});
