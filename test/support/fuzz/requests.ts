import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import fc from 'fast-check';
import { EVENT, KIND, SOURCE_EVENT } from '../../../functions/domain/names.ts';

/** A request as bytes, as any pod may send it. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const oneOf = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const latin1 = fc.string({
  unit: fc
    .integer({ min: 32, max: 255 })
    .filter((code) => code !== 127)
    .map((code) => String.fromCharCode(code)),
});
/** Names that would lead a path elsewhere, and others. */
const aName = fc.oneof(
  oneOf('tenant', '', '.', '..', 'a%2Fb', '../../secrets', 'a/b', '%00', 'x'.repeat(300), 'ä', 'A_b'),
  fc.string(),
);

const aBody = fc.oneof(
  latin1,
  fc.json(),
  fc
    .record({ namespace: aName, name: aName, token: aName, kind: oneOf('Drain', 'Plan', 'x') })
    .map((data) => JSON.stringify(data)),
  fc.nat({ max: 40_000 }).map((count) => `[${'{},'.repeat(count)}{}]`),
  fc.nat({ max: 20_000 }).map((depth) => '['.repeat(depth)),
);

const aHeader = fc.oneof(
  fc.tuple(
    oneOf('content-type'),
    oneOf('application/json', 'application/cloudevents+json', 'text/plain', ''),
  ),
  fc.tuple(oneOf('content-encoding', 'expect', 'transfer-encoding', 'upgrade', 'range'), latin1),
  fc.tuple(oneOf('ce-knativeerrordata', 'ce-knativeerrorcode', 'ce-knativeerrordest', 'ce-time'), latin1),
  fc.tuple(oneOf('ce-name', 'ce-namespace', 'ce-kind', 'ce-apiversion', 'ce-subject', 'ce-id'), aName),
);

const EVENT_HEADERS: RawRequest['headers'] = [
  ['ce-specversion', '1.0'],
  ['ce-id', 'id'],
  ['ce-source', '/x'],
  ['content-type', 'application/json'],
];

/** An event of a known type with forged attributes and data, the headers in any order. */
const anEvent = fc
  .record({
    type: oneOf(
      ...Object.values(EVENT),
      ...Object.values(SOURCE_EVENT),
      'io.kubevirt.mtq.live.progressed',
      ...['add', 'update', 'delete'].map((change) => `dev.knative.apiserver.ref.${change}`),
    ),
    kind: oneOf(...Object.values(KIND).map(({ kind }) => kind)),
    headers: fc.array(aHeader, { maxLength: 5 }),
    body: aBody,
  })
  .map(({ type, kind, headers, body }): RawRequest => {
    const attributes: RawRequest['headers'] = [['ce-type', type], ['ce-kind', kind], ...headers];
    return { method: 'POST', path: '/', headers: [...EVENT_HEADERS, ...attributes], body };
  });

/** A request to any path of any of our ports. */
const aRequest = fc.record({
  method: oneOf('GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT'),
  path: fc.oneof(
    oneOf(
      '/',
      '/view',
      '/maintenance',
      '/metrics',
      '/dead-letter',
      '/health/readiness',
      '/health/liveness',
      '/review',
    ),
    fc
      .tuple(oneOf('/view?namespace=', '/maintenance?kind=Drain&node='), aName)
      .map(([path, name]) => path + encodeURI(name.toWellFormed())),
    fc.tuple(oneOf('/view?', '/maintenance?'), fc.webQueryParameters()).map(([path, query]) => path + query),
    fc.webPath().map((path) => `/${path}`),
  ),
  headers: fc.array(aHeader, { maxLength: 8 }),
  body: aBody,
});

export const anyRequest: fc.Arbitrary<RawRequest> = fc.oneof(aRequest, anEvent);

/** Bytes on a line of a request's head: what would end the line is left out. */
const inLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, '');

/** Sends the request. Returns the status of the answer; undefined if the connection was closed without one. Rejects if there is neither in 20 s. */
export function statusOf(
  port: number,
  { method, path, headers, body }: RawRequest,
): Promise<number | undefined> {
  const length = Buffer.byteLength(body, 'latin1');
  const lines = [
    `${method} ${inLine(path).replaceAll(' ', '%20')} HTTP/1.1`,
    ...[...headers, ['host', 'x'], ['connection', 'close'], ['content-length', String(length)]].map(
      ([name = '', value = '']) => `${name}: ${inLine(value)}`,
    ),
  ];
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setTimeout(20_000, () => reject(new Error(`no answer to ${method} ${path}`)));
    socket.on('data', (part: Buffer) => (answer += part.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
      resolve(status === undefined ? undefined : Number(status));
    });
    socket.write(bytes);
  });
}

const BATCH = 10;

/**
 * Sends so many requests, ten at a time. Each is answered, or its connection closed, and none with 500: that would be a defect. The seed is
 * printed; FUZZ_SEED replays it. Returns how many answers had each status.
 */
export async function fuzzPort(
  name: string,
  port: number,
  runs: number,
): Promise<Readonly<Record<string, number>>> {
  const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
  const counts: Record<string, number> = {};
  process.stdout.write(`requests to ${name}: FUZZ_SEED=${String(seed)}\n`);
  await fc.assert(
    fc.asyncProperty(fc.array(anyRequest, { minLength: BATCH, maxLength: BATCH }), async (batch) => {
      const statuses = await Promise.all(batch.map((request) => statusOf(port, request)));
      for (const status of statuses) counts[String(status)] = (counts[String(status)] ?? 0) + 1;
      return !statuses.includes(500);
    }),
    { seed, numRuns: runs / BATCH },
  );
  process.stdout.write(`requests to ${name}: ${JSON.stringify(counts)}\n`);
  return counts;
}
