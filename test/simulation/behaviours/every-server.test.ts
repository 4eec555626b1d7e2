import { describe, expect, test } from '@jest/globals';
import { EVENT, REASON, WEBHOOK } from '../../../functions/domain/names.ts';
import { proofOf } from '../../../functions/domain/proof.ts';
import type { KubernetesObject, Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../../functions/kubernetes/errors.ts';
import { ENDPOINT_SLICES, LEASES } from '../../../functions/kubernetes/resources.ts';
import type { Outcome, StepContext } from '../../../functions/host/step.ts';
import { raise } from '../../../functions/raise/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import type { Model } from '../model/model.ts';
import { addressOf, published, TENANT, tenantNamespace } from '../world/objects.ts';
import { aBlockedTenant, give, runStep } from '../world/one-step.ts';

const NEED = { 'requests.cpu': '1', 'requests.memory': '1Gi' };

function lockOfTenant(): ReturnType<typeof aLock> {
  const migrations = [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }];
  return aLock({
    migrations,
    quotas: [{ name: 'quota', uid: 'uid-of-quota', need: NEED }],
    vmmrqs: ['more'],
  });
}

/** Each address's answer to the proof; 'any' is the usual address. */
type Answers = Readonly<Record<string, 'proves' | 'open' | 'unreachable'>>;

interface World {
  readonly hosts: readonly string[];
  readonly servers: number;
  readonly answers: Answers;
  readonly settings?: Partial<StepContext['settings']>;
  /** The role does not allow to list this kind. */
  readonly forbidden?: ResourceType;
}

interface Seen {
  readonly outcome: Outcome;
  /** Addresses that got a proof request, in order. */
  readonly asked: readonly string[];
  readonly isRaised: boolean;
  /** Total of all pauses, milliseconds. */
  readonly waited: number;
}

async function raiseIn({ hosts, servers, answers, settings = {}, forbidden }: World): Promise<Seen> {
  const model = aBlockedTenant();
  give(model);
  for (const object of published(hosts, servers)) model.store.put(object);
  const lock = lockOfTenant();
  const namespace = lockedBy(lock)(tenantNamespace('uid-of-tenant'));
  model.store.put(namespace);
  const asked: string[] = [];
  const prove = (actor: string): Promise<never> => {
    asked.push(actor);
    return answered(answers[actor], { lock, namespace, model });
  };
  const server = { as: (user: string) => reaching(model.server.as(user), prove, forbidden) };
  const begun = model.clock.now;
  const request = { type: EVENT.namespaceLocked, id: 'event-1', namespace: TENANT, token: lock.token };
  const outcome = await runStep(raise, { server, clock: model.clock, settings }, request);
  const quota = model.store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: TENANT, name: 'quota' });
  const isRaised = quota?.status?.hard?.['requests.cpu'] === '2';
  return { outcome, asked, isRaised, waited: model.clock.now - begun };
}

interface RaiseRun {
  readonly lock: ReturnType<typeof aLock>;
  readonly namespace: Namespace;
  readonly model: Model;
}

function answered(answer: Answers[string] | undefined, { lock, namespace, model }: RaiseRun): Promise<never> {
  const { now } = model.clock;
  if (answer === 'open') return Promise.resolve({ object: {}, date: new Date(now) }) as Promise<never>;
  if (answer !== 'proves') return Promise.reject(new Unreachable('no answer'));
  const message = JSON.stringify(proofOf({ lock, namespace, now, incumbent: { kind: 'absent' } }));
  const status = { code: 403, details: { causes: [{ reason: WEBHOOK.locked, message }] } };
  return Promise.reject(new ApiError('POST', status, new Date(now)));
}

function reaching(
  cluster: Cluster,
  prove: (actor: string) => Promise<never>,
  forbidden: ResourceType | undefined,
): Cluster {
  const own: Partial<Cluster> = {
    create: () => prove('any'),
    at: (address) => ({ create: () => prove(address) }),
    list: <T extends KubernetesObject>(...[type, ...rest]: Parameters<typeof cluster.list<T>>) =>
      type.kind === forbidden?.kind
        ? Promise.reject(new ApiError('LIST', { code: 403, message: 'no rights' }, new Date()))
        : cluster.list<T>(type, ...rest),
  };
  return new Proxy(cluster, {
    get: (target, property) => {
      const value: unknown = Reflect.get(own, property) ?? Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const [ONE, TWO] = [addressOf('10.0.0.1'), addressOf('10.0.0.2')];
const BOTH = { hosts: ['10.0.0.1', '10.0.0.2'], servers: 2 };
const WITH_DELAY = { SETTLE_MS: 250 };
const OUTSIDE = { KUBECONFIG: '/somewhere', ...WITH_DELAY };

describe('raise raises the quota', () => {
  test.each<[string, World, readonly string[], number]>([
    [
      'after one proof where there is one API server',
      { hosts: ['10.0.0.1'], servers: 1, answers: { any: 'proves' }, settings: WITH_DELAY },
      ['any'],
      0,
    ],
    [
      'after a proof by each of two API servers, without a pause',
      { ...BOTH, answers: { [ONE]: 'proves', [TWO]: 'proves' }, settings: WITH_DELAY },
      [ONE, TWO],
      0,
    ],
    [
      'after SETTLE_MS where one address hides two API servers',
      { hosts: ['10.0.0.1'], servers: 2, answers: { any: 'proves' }, settings: WITH_DELAY },
      ['any'],
      250,
    ],
    [
      'after SETTLE_MS and two proofs where two addresses hide three API servers',
      { ...BOTH, servers: 3, answers: { [ONE]: 'proves', [TWO]: 'proves' }, settings: WITH_DELAY },
      [ONE, TWO],
      250,
    ],
    [
      'after SETTLE_MS where there is no lease',
      { ...BOTH, servers: 0, answers: { [ONE]: 'proves', [TWO]: 'proves' }, settings: WITH_DELAY },
      [ONE, TWO],
      250,
    ],
    [
      'after SETTLE_MS where the role does not allow to list leases',
      { ...BOTH, forbidden: LEASES, answers: { [ONE]: 'proves', [TWO]: 'proves' }, settings: WITH_DELAY },
      [ONE, TWO],
      250,
    ],
    [
      'after SETTLE_MS where there is no address',
      { hosts: [], servers: 1, answers: { any: 'proves' }, settings: WITH_DELAY },
      ['any'],
      250,
    ],
    [
      'at once where SETTLE_MS is 0',
      { hosts: ['10.0.0.1'], servers: 2, answers: { any: 'proves' } },
      ['any'],
      0,
    ],
    [
      'after SETTLE_MS where a process outside the cluster cannot reach one address',
      { ...BOTH, answers: { [ONE]: 'proves', [TWO]: 'unreachable', any: 'proves' }, settings: OUTSIDE },
      [ONE, TWO, 'any'],
      250,
    ],
  ])('%s', async (...[, world, asked, waited]) => {
    expect(await raiseIn(world)).toMatchObject({
      outcome: { reason: REASON.raised },
      asked,
      isRaised: true,
      waited,
    });
  });
});

describe('raise ends the lock and names the API server', () => {
  test.each<[string, World, string]>([
    [
      'where one of two API servers does not know the lock',
      { ...BOTH, answers: { [ONE]: 'proves', [TWO]: 'open' } },
      `at API server ${TWO}: the guard does not protect`,
    ],
    [
      'where one of two API servers does not answer',
      { ...BOTH, answers: { [ONE]: 'proves', [TWO]: 'unreachable' } },
      `API server ${TWO} cannot be reached`,
    ],
    [
      'where, outside the cluster, one does not answer and the other does not know the lock',
      { ...BOTH, answers: { [ONE]: 'open', [TWO]: 'unreachable' }, settings: OUTSIDE },
      `at API server ${ONE}`,
    ],
    [
      'where the role does not allow to list EndpointSlices',
      { ...BOTH, forbidden: ENDPOINT_SLICES, answers: { any: 'proves' } },
      'cannot be read: ApiError: LIST: no rights',
    ],
  ])('%s', async (_, world, want) => {
    const { outcome, isRaised } = await raiseIn(world);
    expect(isRaised).toBe(false);
    expect(outcome).toMatchObject({
      reason: REASON.noProof,
      message: expect.stringContaining(want),
      reply: { type: EVENT.lockExpired },
    });
  });
});
