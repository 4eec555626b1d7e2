import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Fields } from '../../functions/runtime/log.ts';
import { newDeadLetters, type DeadLetters } from './dead-letter.ts';

const recorded = (name: string): Record<string, string> => {
  const file = new URL(`../../test/recorded/broker-dead-letter-${name}.json`, import.meta.url);
  const { headers } = JSON.parse(readFileSync(file, 'utf8')) as { headers: [string, string][] };
  return Object.fromEntries(headers.map(([key, value]) => [key.toLowerCase(), value]));
};

const receiver = (): { letters: DeadLetters; lines: (Fields | undefined)[] } => {
  const lines: (Fields | undefined)[] = [];
  return { letters: newDeadLetters((_, message, fields) => lines.push({ message, ...fields })), lines };
};

/** The line after JSON has removed its undefined fields. */
const written = (line: Fields | undefined): unknown => JSON.parse(JSON.stringify(line));

describe('a dead letter of the recorded Broker', () => {
  test.each<[string, object]>([
    ['503', { knativeerrorcode: '503', knativeerrordata: 'nope' }],
    ['400-json-body', { knativeerrorcode: '400', knativeerrordata: '{"error":"bad"}' }],
    [
      'connection-refused',
      {
        knativeerrorcode: '500',
        knativeerrordest: 'http://127.0.0.1:18199/',
        knativeerrordata:
          'dispatch error: Post "http://127.0.0.1:18199/": dial tcp 127.0.0.1:18199: connect: connection refused',
      },
    ],
  ])('%s', (name, want) => {
    const { letters, lines } = receiver();
    letters.receive(recorded(name));
    expect(lines).toHaveLength(1);
    expect(written(lines[0])).toEqual({
      message: 'dead letter',
      type: 'rig.x',
      source: 'rig',
      id: recorded(name)['ce-id'],
      count: 1,
      knativeerrordest: 'http://127.0.0.1:18120/',
      ...want,
    });
  });

  test('a reply that was no CloudEvent sets no knativeerror attribute', () => {
    const { letters, lines } = receiver();
    letters.receive(recorded('non-ce-reply'));
    const line = written(lines[0]);
    expect(line).toMatchObject({ type: 'rig.x', count: 1 });
    expect(line).not.toHaveProperty('knativeerrorcode');
  });
});

describe('a forged dead letter', () => {
  test.each<[string, string, string]>([
    ['no base64', 'not base64!', 'not base64!'],
    ['base64 of no text', '//79', '//79'],
    ['long', 'x y'.repeat(1000), 'x y'.repeat(1000).slice(0, 500)],
    ['long base64', Buffer.from('é'.repeat(600)).toString('base64'), 'é'.repeat(500)],
  ])('data: %s', (_, data, want) => {
    const { letters, lines } = receiver();
    letters.receive({ 'ce-type': 'a', 'ce-knativeerrordata': data });
    expect(lines[0]).toMatchObject({ knativeerrordata: want });
  });

  test('counts by type, and as unknown without a type', () => {
    const { letters, lines } = receiver();
    letters.receive({ 'ce-type': 'a', 'ce-subject': 'tenant' });
    letters.receive({});
    letters.receive({ 'ce-type': 'a' });
    expect(lines.map((line) => [line?.['type'], line?.['subject'], line?.['count']])).toEqual([
      ['a', 'tenant', 1],
      ['unknown', undefined, 1],
      ['a', undefined, 2],
    ]);
    expect(letters.counts()).toEqual(
      new Map([
        ['a', 2],
        ['unknown', 1],
      ]),
    );
  });

  test('any number of types does not fill the memory', () => {
    const { letters } = receiver();
    for (let number = 0; number < 1_000; number += 1) letters.receive({ 'ce-type': `forged-${number}` });
    expect(letters.counts().size).toBe(101);
    expect(letters.counts().get('others')).toBe(900);
  });
});
