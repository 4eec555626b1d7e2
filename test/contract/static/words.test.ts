import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { FORBIDDEN } from './forbidden-words.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILES = globSync('{functions,webhook,kubectl,hack,examples}/**/*.ts', { cwd: ROOT }).sort();

interface Found {
  readonly at: string;
  readonly text: string;
}

const COMMENTS: Found[] = [];
const NAMES: Found[] = [];

for (const file of FILES) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext);
  const comments = new Map<number, number>();
  const found = (pos: number, end: number): Found => ({
    at: `${file}:${String(source.getLineAndCharacterOfPosition(pos).line + 1)}`,
    text: text.slice(pos, end),
  });
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node))
      NAMES.push(found(node.getStart(source), node.getEnd()));
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ];
    for (const { pos, end } of ranges) comments.set(pos, end);
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const [pos, end] of comments) COMMENTS.push(found(pos, end));
}

test('there are files with comments and names', () => {
  expect([FILES.length > 500, COMMENTS.length > 3_000, NAMES.length > 50_000]).toEqual([true, true, true]);
});

/** A comment's sentences without its stars. */
const proseOf = ({ text }: Found): string =>
  text
    .replace(/^\/\*+|\*\/$|^\/\//g, '')
    .replace(/\n\s*\*/g, ' ')
    .trim();
const show = ({ at, text }: Found): string => `${at}: ${text.split('\n')[0] ?? ''}`;

/** Names that users see. */
const ENVIRONMENT = ['SWEEP_SECONDS', 'WAKE_URLS'];

describe('words that docs/glossary.md replaces', () => {
  test('are in no comment', () => {
    const found = COMMENTS.filter((one) => FORBIDDEN.test(proseOf(one).replaceAll(/`[^`]*`/g, '')));
    expect(found.map(show)).toEqual([]);
  });

  test('are in no identifier', () => {
    const wordsOf = (name: string): string =>
      name.replaceAll('_', ' ').replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ');
    const found = NAMES.filter(({ text }) => !ENVIRONMENT.includes(text) && FORBIDDEN.test(wordsOf(text)));
    expect(found.map(show)).toEqual([]);
  });
});

/** Words that leave a doc comment without a subject. */
const NO_SUBJECT =
  /^(?:Of|By|For|As|Without|Those|Its?|Where|In|With|Until|On|From|Before|While|To|At|After|Also|Up|Since|Who|Not|So|They|Once|Undefined:|Left out|Another|Such|This|That|There|Else|Because|If)\b/i;

test('a doc comment begins with its subject or a verb', () => {
  const found = COMMENTS.filter(({ text }) => text.startsWith('/**')).filter((one) =>
    NO_SUBJECT.test(proseOf(one)),
  );
  expect(found.map(show)).toEqual([]);
});
