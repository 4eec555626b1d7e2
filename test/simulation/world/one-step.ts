import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import { lockOf } from '../../../functions/domain/lock.ts';
import {
  ANNOTATION,
  EVENT,
  KIND,
  LOCK_OUTCOME,
  SOURCE_EVENT,
  userOf,
  WEBHOOK,
} from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { proofOf } from '../../../functions/domain/proof.ts';
import { parseEventObject } from '../../../functions/eventing/event-object.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { newExclusively } from '../../../functions/host/exclusive.ts';
import type { Outcome, Step, StepContext } from '../../../functions/host/step.ts';
import { raise } from '../../../functions/raise/handle.ts';
import { aView } from '../../support/builders/snapshot.ts';
import { aModel, type Model } from '../model/model.ts';
import type { ApiServerParts } from '../model/api-server.ts';
import {
  LAUNCHER,
  launcherPod,
  migration,
  quota,
  refused,
  running,
  TENANT,
  tenantNamespace,
  vmi,
  vmmrq,
} from './objects.ts';

export const GIVES = { additionalMigrationResources: { 'requests.cpu': '1', 'requests.memory': '1Gi' } };
export const FULL = { 'requests.cpu': '1', 'requests.memory': '1Gi' };
/** The migration of `aBlockedTenant`. */
export const BLOCKED = refused(migration('mig0', 'vm0'), 'uid-of-mig0');

/** A migration that a full quota refuses. */
export function aBlockedTenant(parts: Partial<ApiServerParts> = {}): Model {
  const model = aModel(parts);
  const { store } = model;
  const vm = vmi('vm0', 'uid-of-vm0');
  store.put(tenantNamespace('uid-of-tenant'));
  store.put(vm);
  store.put(running(launcherPod(vm, { requests: LAUNCHER })));
  const full = quota('quota', 'uid-of-quota', FULL);
  // An earlier cycle has raised it.
  const annotations = { [ANNOTATION.lastRelease]: `token-before ${LOCK_OUTCOME.admitted}` };
  store.put({ ...full, metadata: { ...full.metadata, annotations }, status: { hard: FULL, used: FULL } });
  store.put(BLOCKED);
  return model;
}

/** The part of a model that a step reaches. */
export interface Reached {
  readonly server: { as(user: string): Cluster };
  readonly clock: Model['clock'];
  /** Overrides of the default settings. */
  readonly settings?: Partial<StepContext['settings']>;
  readonly context?: Partial<StepContext>;
}

/** The step's answer; by default to the source's event for the refused migration. */
export const runStep = (step: Step, model: Reached, request: StepRequest = refusedNow()): Promise<Outcome> =>
  step.handle(request, contextOn(step, model));

/** `raise` for the lock of this namespace, where the guard proves it. */
export function raiseFor(namespace: Namespace, { server, clock, ...rest }: Reached): Promise<Outcome> {
  const state = lockOf(namespace);
  if (state.kind !== 'held') throw new Error(state.kind);
  const { now } = clock;
  const proof = proofOf({ lock: state.lock, namespace, now, incumbent: { kind: 'absent' } });
  const causes = [{ reason: WEBHOOK.locked, message: JSON.stringify(proof) }];
  const create = (): Promise<never> =>
    Promise.reject(new ApiError('POST', { code: 403, details: { causes } }, new Date(now)));
  const as = (user: string): Cluster => Object.assign(server.as(user), { create });
  const about = { namespace: namespace.metadata.name, token: state.lock.token };
  return runStep(
    raise,
    { server: { as }, clock, ...rest },
    { type: EVENT.namespaceLocked, id: 'event-2', ...about },
  );
}

function refusedNow(): StepRequest {
  const eventObject = parseEventObject(BLOCKED, { kind: KIND.migration.kind, namespace: TENANT });
  const about = { id: 'event-1', namespace: TENANT, kind: KIND.migration.kind };
  return { type: SOURCE_EVENT.update, ...about, ...(eventObject === undefined ? {} : { eventObject }) };
}

const DEADLINE_MS = 5_000;

const contextOn = (step: Step, { server, clock, settings = {}, context = {} }: Reached): StepContext => ({
  cluster: server.as(userOf(`mtq-${step.name}`)),
  clock: {
    elapsed: () => clock.now,
    now: () => new Date(clock.now),
    // A pause ends at once; a deadline never comes.
    after: (ms, work) => {
      if (ms < DEADLINE_MS) {
        clock.now += ms;
        work();
      }
      return () => undefined;
    },
  },
  settings: {
    KUBEVIRT_NAMESPACE: 'kubevirt',
    LOCK_SECONDS: 30,
    STALL_SECONDS: 3,
    SETTLE_MS: 0,
    ...settings,
  },
  log: () => undefined,
  newToken: () => 'token',
  post: () => Promise.resolve(),
  silentSteps: () => Promise.resolve([]),
  view: () => Promise.resolve(aView()),
  maintenance: () => Promise.resolve(undefined),
  sinceFirst: () => Infinity,
  sinceAsked: () => undefined,
  exclusively: newExclusively(),
  looks: {
    serialize: async <T>(_key: unknown, work: () => Promise<T>) => ({
      result: await work(),
      isShared: false,
    }),
  },
  inBackground: () => undefined,
  ...context,
});

/** Creates a VMMRQ with enough allowance for the migration. */
export const give = ({ store }: Model): void => void store.put(vmmrq('more', 'uid-of-more', GIVES));
