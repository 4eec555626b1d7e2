import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { toResponse } from '../../../webhook/admission/admission.ts';
import { ApiServer } from '../model/api-server.ts';
import { QuotaController } from '../model/quota-controller.ts';
import { Store } from '../model/store.ts';
import type { UntilStable } from './play.ts';
import { evaluate, USERS, type Asked, type GuardMode, type Side } from './side.ts';

const START = Date.parse('2026-11-21T05:00:00.750Z');

/** Far more rounds than any history needs. */
const ROUNDS = 20;

/** A model with one server, no suspended requests, and the namespace of one history. */
export async function modelled(namespace: string): Promise<{ side: Side; untilStable: UntilStable }> {
  const asked: Asked[] = [];
  let mode: GuardMode = 'guard';
  let isPaused = false;
  let uids = 0;
  const now = (): number => START;
  const store = new Store({
    newUid: () => `00000000-0000-4000-8000-${String((uids += 1)).padStart(12, '0')}`,
    now,
  });
  const server = new ApiServer({
    name: 'model',
    store,
    now,
    pace: () => Promise.resolve(),
    hasPolicies: false,
    admission: (request, webhook) => {
      asked.push({ webhook, request });
      if (mode === 'unreachable') return Promise.reject(new Error('connection refused'));
      const live = store.get<Namespace>({ kind: NAMESPACES.kind, name: request.namespace ?? '' });
      return Promise.resolve(toResponse(request.uid, evaluate(request, live)));
    },
  });
  const controller = new QuotaController({ store, server });
  const syncController = async (): Promise<void> => {
    for (let round = 1; !isPaused && controller.pending().length > 0; round += 1) {
      if (round > ROUNDS) throw new Error('the quota controller does not come to rest');
      for (const quota of controller.pending()) await controller.sync(quota);
    }
  };
  await server.as(USERS.tenant).create(NAMESPACES, { metadata: { name: namespace } });
  server.caches.namespaces.catchUpAll();
  const side: Side = {
    namespace,
    as: (user) => server.as(USERS[user]),
    asked: () => asked.splice(0),
    guardIs: (next) => {
      mode = next;
    },
    pauseController: () => {
      isPaused = true;
      return Promise.resolve();
    },
    resumeController: () => {
      isPaused = false;
    },
  };
  const untilStable: UntilStable = async (look) => {
    await syncController();
    server.caches.namespaces.catchUpAll();
    server.caches.resourceQuotas.catchUpAll();
    return look();
  };
  return { side, untilStable };
}
