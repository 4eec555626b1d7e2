import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { FORBIDDEN } from './forbidden-words.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILES = globSync('{functions,webhook,kubectl,hack,examples}/**/*.ts', { cwd: ROOT }).sort();

/** A string, a comment, or a word of the code, in the order of the text. */
const TOKEN =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[^]*?\*\/|\/\/[^\n]*|[A-Za-z_$][\w$]*/g;

interface Token {
  readonly at: string;
  readonly text: string;
}

/** The tokens of all files, each with its file and line. */
const TOKENS: readonly Token[] = FILES.flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(TOKEN)].map((match) => ({
    at: `${file}:${String(text.slice(0, match.index).split('\n').length)}`,
    text: match[0],
  }));
});

const isComment = ({ text }: Token): boolean => text.startsWith('/*') || text.startsWith('//');
const isName = ({ text }: Token): boolean => /^[A-Za-z_$]/.test(text);
/** A comment's sentences without its stars. */
const proseOf = ({ text }: Token): string =>
  text
    .replace(/^\/\*+|\*\/$|^\/\//g, '')
    .replace(/\n\s*\*/g, ' ')
    .trim();
const show = ({ at, text }: Token): string => `${at}: ${text.split('\n')[0] ?? ''}`;

/** Names that users see. */
const ENVIRONMENT = ['SWEEP_SECONDS', 'WAKE_URLS'];

describe('words that docs/glossary.md replaces', () => {
  test('are in no comment', () => {
    const found = TOKENS.filter(isComment).filter((one) =>
      FORBIDDEN.test(proseOf(one).replaceAll(/`[^`]*`/g, '')),
    );
    expect(found.map(show)).toEqual([]);
  });

  test('are in no identifier', () => {
    const wordsOf = (name: string): string =>
      name.replaceAll('_', ' ').replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ');
    const found = TOKENS.filter(isName).filter(
      ({ text }) => !ENVIRONMENT.includes(text) && FORBIDDEN.test(wordsOf(text)),
    );
    expect(found.map(show)).toEqual([]);
  });
});

/** Words that leave a doc comment without a subject. */
const NO_SUBJECT =
  /^(?:Of|By|For|As|Without|Those|Its?|Where|In|With|Until|On|From|Before|While|To|At|After|Also|Up|Since|Who|Not|So|They|Once|Undefined:|Left out|Another|Such|This|That|There|Else|Because|If)\b/i;

test('a doc comment begins with its subject or a verb', () => {
  const found = TOKENS.filter(({ text }) => text.startsWith('/**')).filter((one) =>
    NO_SUBJECT.test(proseOf(one)),
  );
  expect(found.map(show)).toEqual([]);
});
