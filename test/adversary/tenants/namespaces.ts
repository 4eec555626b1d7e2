import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import { APPLY, JSON_PATCH, MERGE_PATCH, nth, pointer, type Attack, type Attempt } from './attack.ts';
import type { ObservedState } from './sight.ts';

type Way = '' | '/status';

/** A well-formed lock annotation, forged by the tenant. */
function forgedLock({ token, migration, migrationUid, vmiUid }: ObservedState): string {
  const acquiredAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + 30_000).toISOString();
  const migrations = [{ name: migration, uid: migrationUid, vmi: vmiUid }];
  return JSON.stringify({ v: 1, token, acquiredAt, expiresAt, migrations, quotas: [] });
}

type Tried = (observed: ObservedState) => Attempt;

const merge =
  (shape: string, way: Way, metadata: (observed: ObservedState) => object): Tried =>
  (observed) => ({
    shape: `namespace: ${shape}${way === '' ? '' : ` by ${way}`}`,
    method: 'PATCH',
    path: `/api/v1/namespaces/${observed.namespace}${way}`,
    contentType: MERGE_PATCH,
    body: { metadata: metadata(observed) },
    never: true,
  });

/** PUT is the only verb that /finalize knows. */
const finalize =
  (shape: string, metadata: (observed: ObservedState) => object): Tried =>
  (observed) => ({
    shape: `namespace: ${shape} by /finalize`,
    method: 'PUT',
    path: `/api/v1/namespaces/${observed.namespace}/finalize`,
    body: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: observed.namespace, ...metadata(observed) },
      spec: { finalizers: ['kubernetes'] },
    },
    never: true,
  });

const locked = (observed: ObservedState): object => ({
  labels: { [LABEL.locked]: 'true' },
  annotations: { [ANNOTATION.lock]: forgedLock(observed) },
});
const unlocked = (): object => ({
  labels: { [LABEL.locked]: null },
  annotations: { [ANNOTATION.lock]: null },
});

/** Removes a key only while the lock exists: the patch has a test operation. */
const removed =
  (map: 'labels' | 'annotations', key: string): Tried =>
  ({ namespace }) => ({
    shape: `namespace: ${key} off, where it is there`,
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    contentType: JSON_PATCH,
    body: [
      { op: 'test', path: `/metadata/labels/${pointer(LABEL.locked)}`, value: 'true' },
      { op: 'remove', path: `/metadata/${map}/${pointer(key)}` },
    ],
    never: true,
  });

const applied: Tried = (observed) => ({
  shape: 'namespace: locked by server-side apply',
  method: 'PATCH',
  path: `/api/v1/namespaces/${observed.namespace}?fieldManager=tenant&force=true`,
  contentType: APPLY,
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: observed.namespace, ...locked(observed) } },
  never: true,
});

const TRIED: readonly Tried[] = [
  removed('labels', LABEL.locked),
  removed('annotations', ANNOTATION.lock),
  merge('as if locked', '', locked),
  merge('as if locked', '/status', locked),
  finalize('as if locked', locked),
  merge('the back-off reset', '', () => ({ annotations: { [ANNOTATION.lastAttempt]: '{}' } })),
  merge('label changed', '', () => ({ labels: { [LABEL.locked]: 'false' } })),
  applied,
];

/** Without a lock these requests change nothing and pass, so the tenant sends them only while a quota is raised. */
const WHILE_RAISED: readonly Tried[] = [
  merge('unlocked', '', unlocked),
  merge('unlocked', '/status', unlocked),
  finalize('unlocked', () => ({})),
];

/** Tries every way to set or remove the lock. */
export const writeNamespace: Attack = {
  name: 'namespace',
  clients: 1,
  pauseMs: 50,
  next: (observed, n) => [
    nth(TRIED, n)(observed),
    // Without `never`: the lock may be gone when they arrive, and then they change nothing.
    ...(observed.isRaised ? WHILE_RAISED.map((tried) => ({ ...tried(observed), never: false })) : []),
  ],
};
