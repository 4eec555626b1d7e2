export type Level = 'debug' | 'info' | 'warn' | 'error';

/** Fields of a line. Never an object's whole content, never a credential. */
export type Fields = Readonly<Record<string, unknown>>;

export type Log = (level: Level, message: string, fields?: Fields) => void;

const RANK: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Characters of a text: tenants and forged requests may give any. Our own are shorter. */
const MAX_TEXT = 2_000;

const cut = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;

/** Escapes all but ASCII. JSON has U+009B and U+202E as they are, which hide or turn the rest of a line on a terminal. */
const toAscii = (json: string): string =>
  json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Structured log: one JSON document per line, on standard output. */
export function newLog(min: Level, always: Fields): Log {
  return (level, message, fields = {}) => {
    if (RANK[level] < RANK[min]) return;
    const line = { time: new Date().toISOString(), level, message, ...always, ...fields };
    process.stdout.write(`${toAscii(JSON.stringify(line, cut))}\n`);
  };
}
