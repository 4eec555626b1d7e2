import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { lockOf } from '../../../functions/domain/lock.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Write } from './faulty-proxy.ts';

/** Matches writes of the project's processes. */
export type Hits = (write: Write) => boolean;

/** The resource of a path: /api/v1/namespaces/<name>[/<resource or subresource>/…] is a namespace, or an object in it. */
function resourceOf(path: string): string | undefined {
  const [first, , second] = path.replace(/^\/apis?\/(?:[^/]+\/)?v[^/]+\//, '').split('/');
  const isInNamespace =
    first === 'namespaces' && second !== undefined && !/^(?:status|finalize)$/.test(second);
  return isInNamespace ? second : first;
}

/** Writes of this account to this kind (or one of its subresources). */
export const by =
  (account: string, method: string, plural: string): Hits =>
  (write) =>
    [write.account === account, write.method === method, resourceOf(write.path) === plural].every(Boolean);

export const isIn =
  (namespace: string): Hits =>
  ({ path }) =>
    path.split('/').includes(namespace);

export const isStatus: Hits = ({ path }) => path.endsWith('/status');

/** Writes of a quota with its grant. */
export const hasGrant: Hits = ({ body }) =>
  body !== undefined && grantOf(body as ResourceQuota).kind === 'held';

/** Writes of a namespace with a lock. */
export const isLock: Hits = ({ body }) => body !== undefined && lockOf(body).kind === 'held';

export const all =
  (...each: readonly Hits[]): Hits =>
  (write) =>
    each.every((hits) => hits(write));

export const not =
  (hits: Hits): Hits =>
  (write) =>
    !hits(write);
