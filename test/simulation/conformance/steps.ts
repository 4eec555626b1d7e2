import type { KubernetesObject, Pod, ResourceList } from '../../../functions/domain/objects.ts';
import type {
  DeleteOptions,
  ResourceType,
  Selection,
  WatchEvent,
  WriteOptions,
} from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { Normaliser } from './normalise.ts';
import type { GuardMode, Side, User } from './side.ts';

/** The context of a step. */
export interface StepContext {
  readonly side: Side;
  readonly normal: Normaliser;
  /** Objects that earlier steps kept, by the steps' names for them. */
  readonly kept: Map<string, KubernetesObject>;
}

/** One action of a user; `act` resolves with the normalised answer. */
export interface Step {
  readonly what: string;
  readonly by: User;
  readonly act: (context: StepContext) => Promise<unknown>;
}

interface Options extends WriteOptions {
  readonly by?: User;
  /** The name under which the step keeps the answer's object. */
  readonly keep?: string;
}

export type Body = Record<string, unknown> & { metadata?: Record<string, unknown> };

const by = ({ by: user = 'tenant' }: { by?: User }): User => user;

const say = (words: (string | undefined)[]): string => words.filter((word) => word !== undefined).join(' ');

const optionsOf = ({ dryRun, subresource }: Options): WriteOptions => ({
  ...(dryRun === undefined ? {} : { dryRun }),
  ...(subresource === undefined ? {} : { subresource }),
});

const dry = ({ dryRun }: Options): string | undefined => (dryRun === true ? '(dry run)' : undefined);

const clusterOf = ({ side }: StepContext, options: { by?: User }): ReturnType<Side['as']> =>
  side.as(by(options));

/** The address of an object of the history; the namespace itself needs no name. */
const at = (type: ResourceType, name: string, { side }: StepContext): { name: string; namespace?: string } =>
  type.kind === NAMESPACES.kind ? { name: side.namespace } : { name, namespace: side.namespace };

function answer(
  { kept, normal }: StepContext,
  object: KubernetesObject,
  { keep }: { keep?: string },
): unknown {
  if (keep !== undefined) kept.set(keep, object);
  return normal.object(object);
}

const nameOf = ({ metadata: { name } = {} }: Body): string => (typeof name === 'string' ? name : '');

/** "(namespace)" in the body is the history's own. */
export const create = (type: ResourceType, body: Body, options: Options = {}): Step => ({
  what: say(['create', type.plural, nameOf(body), dry(options)]),
  by: by(options),
  act: async (context) => {
    const { namespace } = context.side;
    const object = {
      ...(JSON.parse(JSON.stringify(body).replaceAll('(namespace)', namespace)) as object),
      metadata: { namespace, ...body.metadata },
    } as unknown as KubernetesObject;
    const read = await clusterOf(context, options).create(type, object, optionsOf(options));
    return answer(context, read.object, options);
  },
});

export const read = (type: ResourceType, name: string, options: Options = {}): Step => ({
  what: say(['read', type.plural, name]),
  by: by(options),
  act: async (context) => {
    const { object } = await clusterOf(context, options).get(type, at(type, name, context));
    return answer(context, object, options);
  },
});

/** PUT of a kept object with a change. */
export const replace = (
  type: ResourceType,
  name: string,
  { change = (object) => object, ...options }: Options & { change?: (object: Body) => Body },
): Step => ({
  what: say(['replace', type.plural, options.subresource, 'with', name, dry(options)]),
  by: by(options),
  act: async (context) => {
    const object = context.kept.get(name);
    if (object === undefined) throw new Error(`no step kept ${name}`);
    const changed = change(structuredClone(object) as unknown as Body) as unknown as KubernetesObject;
    const put = await clusterOf(context, options).replace(type, changed, optionsOf(options));
    return answer(context, put.object, options);
  },
});

export const patch = (
  type: ResourceType,
  name: string,
  { merge, ...options }: Options & { merge: Body; subresource?: 'status' },
): Step => ({
  what: say(['patch', type.plural, options.subresource, name, JSON.stringify(merge)]),
  by: by(options),
  act: async (context) => {
    const change = {
      merge,
      ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
    };
    const { object } = await clusterOf(context, options).patch(type, at(type, name, context), change);
    return answer(context, object, options);
  },
});

/** `of`: the kept object whose uid or version is the precondition. */
export const remove = (
  type: ResourceType,
  name: string,
  options: { by?: User; uidOf?: string; versionOf?: string; grace?: number } = {},
): Step => ({
  what: say(['delete', type.plural, name]),
  by: by(options),
  act: async (context) => {
    const { uidOf = '', versionOf = '', grace } = options;
    const uid = context.kept.get(uidOf)?.metadata.uid;
    const resourceVersion = context.kept.get(versionOf)?.metadata.resourceVersion;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const request: DeleteOptions = {
      ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
      ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    };
    await clusterOf(context, options).delete(type, at(type, name, context), request);
    return 'done';
  },
});

export const list = (type: ResourceType, where: Selection): Step => ({
  what: say(['list', type.plural, where.labelSelector, where.fieldSelector]),
  by: 'tenant',
  act: async (context) => {
    const { namespace } = context.side;
    const { items } = await clusterOf(context, {}).list(type, { ...where, namespace });
    return items.map(({ metadata }) => metadata.name);
  },
});

/** The first `count` events of a watch from the version of a kept object. */
export const watched = (
  type: ResourceType,
  since: string,
  { count, ...where }: Omit<Selection, 'namespace'> & { count: number },
): Step => ({
  what: say(['watch', type.plural, where.labelSelector, where.fieldSelector, 'since', since]),
  by: 'tenant',
  act: async (context) => {
    const resourceVersion = context.kept.get(since)?.metadata.resourceVersion ?? '';
    const over = new AbortController();
    const from = { ...where, namespace: context.side.namespace, resourceVersion, timeoutSeconds: 20 };
    const events: WatchEvent<KubernetesObject>[] = [];
    for await (const event of clusterOf(context, {}).watch(type, from, over.signal)) {
      if (event.type !== 'BOOKMARK') events.push(event);
      if (events.length === count) break;
    }
    over.abort();
    return events.map((event) => context.normal.event(event));
  },
});

/** PUT of pods/resize: new requests of the pod's only container. */
export const resize = (name: string, requests: ResourceList, options: { by?: User } = {}): Step => ({
  what: say(['resize pod', name]),
  by: by(options),
  act: async (context) => {
    const cluster = clusterOf(context, options);
    const { object } = await cluster.get(PODS, at(PODS, name, context));
    const containers = object.spec.containers.map((each) => ({ ...each, resources: { requests } }));
    const resized: Pod = { ...object, spec: { ...object.spec, containers } };
    return context.normal.object((await cluster.resize(resized)).object);
  },
});

const set = (what: string, act: (side: Side) => unknown): Step => ({
  what,
  by: 'tenant',
  act: async ({ side }) => {
    await act(side);
    return 'done';
  },
});

export const pauseController = set('suspend the quota controller', (side) => side.pauseController());
export const resumeController = set('the quota controller goes on', (side) => side.resumeController());
export const guardIs = (mode: GuardMode): Step => set(`the guard is ${mode}`, (side) => side.guardIs(mode));

// The steps by the names that histories use.

export const pod = (name: string, requests: ResourceList = {}, more: Body = {}): Body => ({
  ...more,
  metadata: { name, ...more.metadata },
  spec: { containers: [{ name: 'main', image: 'none', resources: { requests } }], ...(more['spec'] as Body) },
});

export const createPod = (name: string, requests: ResourceList = {}, options: Options = {}): Step =>
  create(PODS, pod(name, requests), options);

export const createQuota = (name: string, hard: ResourceList, options: Options = {}): Step =>
  create(RESOURCE_QUOTAS, { metadata: { name }, spec: { hard } }, options);

export const readQuota = (name: string, keep?: string): Step =>
  read(RESOURCE_QUOTAS, name, keep === undefined ? {} : { keep });

/** Sets all limits in the spec of a quota. */
export const hard =
  (amounts: ResourceList) =>
  (object: Body): Body => ({ ...object, spec: { ...(object['spec'] as Body), hard: amounts } });

export const metadata =
  (different: Record<string, unknown>) =>
  (object: Body): Body => ({ ...object, metadata: { ...object.metadata, ...different } });
