import { describe, expect, test } from '@jest/globals';
import { aVm } from '../../../test/support/builders/live.ts';
import type { LiveWrite } from '../run/decision.ts';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../kubernetes/errors.ts';
import { apply } from './apply.ts';

const refused = (code: number, reason = ''): ApiError =>
  new ApiError('the request', { code, reason, message: 'why' }, new Date(0));

/** A cluster whose verbs reject with this error, if any; it keeps their arguments. */
function aCluster(error?: Error): { readonly cluster: Cluster; readonly calls: unknown[][] } {
  const calls: unknown[][] = [];
  const verb =
    (name: string) =>
    (...given: unknown[]): Promise<unknown> => {
      calls.push([name, ...given.slice(1)]);
      return error === undefined ? Promise.resolve({}) : Promise.reject(error);
    };
  const cluster = { create: verb('create'), replace: verb('replace'), delete: verb('delete') };
  return { cluster: cluster as unknown as Cluster, calls };
}

const VM = aVm();
const CREATE = { verb: 'create', on: 'target', object: VM } as const satisfies LiveWrite;
const REPLACE: LiveWrite = { verb: 'replace', on: 'target', object: VM };
const DELETE: LiveWrite = { verb: 'delete', on: 'target', object: VM, asRead: true };

async function applied(write: LiveWrite, error?: Error): Promise<[string, unknown[][]]> {
  const { cluster, calls } = aCluster(error);
  const { kind } = await apply([write], { hub: cluster, source: cluster, target: cluster });
  return [kind, calls];
}

describe('apply', () => {
  test.each<[string, [LiveWrite, Error?], string]>([
    ['a create', [CREATE], 'written'],
    [
      'a create of what is there: the next reading decides whose it is',
      [CREATE, refused(409, 'AlreadyExists')],
      'written',
    ],
    ['a create where its namespace or kind is not there', [CREATE, refused(404)], 'refused'],
    ['a create that a webhook refuses', [CREATE, refused(403)], 'refused'],
    ['a create that may be refused', [{ ...CREATE, isOptional: true }, refused(403)], 'written'],
    ['a replace of an old version', [REPLACE, refused(409, 'Conflict')], 'changed'],
    ['a replace of what is gone', [REPLACE, refused(404)], 'changed'],
    ['a replace that a webhook refuses', [REPLACE, refused(422)], 'refused'],
    ['a replace while a webhook does not answer', [REPLACE, refused(500, 'InternalError')], 'refused'],
    ['a delete of another version', [DELETE, refused(409, 'Conflict')], 'changed'],
    ['a delete of what is gone', [DELETE, refused(404)], 'changed'],
  ])('%s', async (_, given, want) => {
    expect((await applied(...given))[0]).toBe(want);
  });

  test('deletes exactly the version that was read', async () => {
    const { namespace, name, uid, resourceVersion } = VM.metadata;
    const [, calls] = await applied(DELETE);
    expect(calls).toEqual([['delete', { namespace, name }, { preconditions: { uid, resourceVersion } }]]);
  });

  test('of what is not to be as read, the uid', async () => {
    const { uid } = VM.metadata;
    const [, calls] = await applied({ verb: 'delete', on: 'target', object: VM });
    expect(calls[0]?.[2]).toEqual({ preconditions: { uid } });
  });

  test('ends at the first that does not succeed', async () => {
    const { cluster, calls } = aCluster(refused(409, 'Conflict'));
    await apply([REPLACE, DELETE], { hub: cluster, source: cluster, target: cluster });
    expect(calls).toHaveLength(1);
  });

  test.each([new Unreachable('no answer'), refused(503), refused(401)])(
    'rejects where nothing is known',
    async (error) => {
      await expect(applied(REPLACE, error)).rejects.toBe(error);
    },
  );
});
