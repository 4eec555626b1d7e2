import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { atVersion, NOW } from '../../test/support/builders/object.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import { Terminal } from '../terminal/terminal.ts';
import { unlockSubcommand } from './unlock.ts';

/** A namespace that changes between the read and the write. */
class Changing {
  readonly sent: unknown[] = [];
  readonly #versions: Namespace[];

  /** Each read returns the next version, the last one for ever; a write to another one is a conflict. */
  constructor(...versions: Namespace[]) {
    this.#versions = versions;
  }

  get = (): Promise<object> => {
    const object = this.#versions[0];
    if (this.#versions.length > 1) this.#versions.shift();
    return Promise.resolve({ object, date: new Date(NOW) });
  };

  create = (): Promise<object> =>
    Promise.resolve({ object: { status: { allowed: true } }, date: new Date(NOW) });

  patch = (
    _type: unknown,
    _at: unknown,
    { merge }: { merge: { metadata: { resourceVersion: string } } },
  ): Promise<object> => {
    this.sent.push(merge);
    const stored = this.#versions[0];
    if (merge.metadata.resourceVersion !== stored?.metadata.resourceVersion) {
      return Promise.reject(new ApiError('PATCH', { code: 409, reason: 'Conflict' }, new Date(NOW)));
    }
    return Promise.resolve({ object: stored, date: new Date(NOW) });
  };
}

async function unlock(cluster: Changing, answer?: string): Promise<{ code: number; said: string }> {
  const stdin = Object.assign(new PassThrough(), { isTTY: answer !== undefined });
  const stdout = Object.assign(new PassThrough(), { isTTY: false });
  const stderr = new PassThrough();
  stdin.end(answer === undefined ? '' : `${answer}\n`);
  const code = await unlockSubcommand.run({
    session: { cluster: cluster as unknown as ApiServer, namespace: 'default' },
    terminal: new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process),
    args: ['tenant'],
    flags: answer === undefined ? { yes: true } : {},
  });
  return { code, said: (stdout.read() as Buffer).toString().trim().split('\n').at(-1) ?? '' };
}

const locked = aNamespace(lockedBy(aLock()), atVersion('100'));
const later = atVersion('101');

test.each<[string, Changing, [number, string, number]]>([
  ['the lock that was shown', new Changing(locked), [0, 'namespace tenant: unlocked', 1]],
  ['it on a newer version', new Changing(locked, later(locked)), [0, 'namespace tenant: unlocked', 2]],
  [
    'nothing that has ended',
    new Changing(locked, later(aNamespace())),
    [0, 'namespace tenant: the lock ended meanwhile', 1],
  ],
  [
    'no other lock',
    new Changing(locked, later(aNamespace(lockedBy(aLock({ token: 'token-2' }))))),
    [1, 'namespace tenant: another lock took its place; nothing was done', 1],
  ],
  ['nothing where there is none', new Changing(aNamespace()), [0, 'namespace tenant is not locked', 0]],
])('removes %s', async (_, cluster, want) => {
  const { code, said } = await unlock(cluster);
  expect([code, said, cluster.sent.length]).toEqual(want);
});

test.each([
  ['y', 0],
  ['yes', 0],
  ['n', 1],
  ['', 1],
])('asks on a terminal: %j', async (answer, code) => {
  const cluster = new Changing(locked);
  expect((await unlock(cluster, answer)).code).toBe(code);
  expect(cluster.sent).toHaveLength(code === 0 ? 1 : 0);
});
