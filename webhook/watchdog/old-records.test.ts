import { beforeEach, expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  aNamespace,
  lockedBy,
} from '../../test/support/builders/namespace.ts';
import { annotated, named, NOW, seconds } from '../../test/support/builders/object.ts';
import { ANNOTATION } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { removeOldRecords } from './old-records.ts';

const old = afterAttempt(anAttempt({ at: seconds(-3_600) }));
const note = annotated('example.com/note', 'x');

let cluster: WatchedCluster;
/** The namespaces that were written. */
let written: Namespace[];
let logged: unknown[];
/** Each write of a namespace of this name fails with the code. */
let failing: Readonly<Record<string, number>>;

beforeEach(() => {
  cluster = new WatchedCluster();
  written = [];
  logged = [];
  failing = {};
});

function remove(): Promise<number> {
  const replace = (_: unknown, namespace: Namespace): Promise<unknown> => {
    const code = failing[namespace.metadata.name];
    if (code !== undefined) return Promise.reject(new ApiError('PUT', { code }, new Date(NOW)));
    written.push(namespace);
    return Promise.resolve({ object: namespace, date: new Date(NOW) });
  };
  return removeOldRecords({ ...cluster.asCluster(), replace } as Cluster, (...line) => logged.push(line));
}

test('of all namespaces only those with an old record and no lock are written, without the record', async () => {
  cluster.put(NAMESPACES, aNamespace(named('old'), note, old));
  cluster.put(NAMESPACES, aNamespace(named('counting'), afterAttempt(anAttempt())));
  cluster.put(NAMESPACES, aNamespace(named('locked'), old, lockedBy(aLock())));
  cluster.put(NAMESPACES, aNamespace(named('other'), note));
  await remove();
  expect(written).toEqual([
    { ...aNamespace(named('old'), note), metadata: expect.objectContaining({ resourceVersion: '2' }) },
  ]);
  expect(written[0]?.metadata.annotations).toEqual({ 'example.com/note': 'x' });
  // A namespace that has none of our keys costs no request.
  expect(cluster.asked).toEqual(['list namespaces', 'get namespaces old', 'get namespaces counting']);
});

test.each([
  ['a lost race is left to the next time', 409, 0],
  ['a refusal is in the log', 403, 1],
])('%s, and the other namespaces get theirs', async (_, code, lines) => {
  failing = { first: code };
  cluster.put(NAMESPACES, aNamespace(named('first'), old));
  cluster.put(NAMESPACES, aNamespace(named('second'), annotated(ANNOTATION.breakGlass, 'unreadable')));
  await remove();
  expect(written.map(({ metadata }) => metadata.name)).toEqual(['second']);
  expect(logged).toHaveLength(lines);
});

test.each([
  ['of which the first will be over in 30 s', [-600, -60], 30_000],
  ['that are over: nothing is left', [-3_600], Infinity],
])('it tells when the next is over, of records %s', async (_, ages, want) => {
  for (const [index, at] of ages.entries()) {
    const last = anAttempt({ at: seconds(at), failures: 1 });
    cluster.put(NAMESPACES, aNamespace(named(`tenant-${String(index)}`), afterAttempt(last)));
  }
  expect(await remove()).toBe(want);
});

test('a record that cannot be removed is not looked for again at once', async () => {
  failing = { first: 403 };
  cluster.put(NAMESPACES, aNamespace(named('first'), old));
  expect(await remove()).toBe(Infinity);
});
