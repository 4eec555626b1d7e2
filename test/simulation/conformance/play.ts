import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { Normaliser } from './normalise.ts';
import type { Side } from './side.ts';
import type { StepContext, Step } from './steps.ts';

/** The result of one step. */
export interface Replayed {
  readonly step: string;
  readonly answer: unknown;
  readonly asked: readonly unknown[];
  /** All objects, after controllers and caches have handled the step. */
  readonly after: readonly unknown[];
}

/** Resolves when controllers and caches are done; `look` reads the objects. */
export type UntilStable = (
  look: () => Promise<readonly unknown[]>,
  step: number,
) => Promise<readonly unknown[]>;

/** Runs a history, step by step. */
export async function replay(
  steps: readonly Step[],
  side: Side,
  untilStable: UntilStable,
): Promise<Replayed[]> {
  const normal = new Normaliser(side.namespace);
  const context: StepContext = { side, normal, kept: new Map() };
  const replayed: Replayed[] = [];
  side.asked();
  for (const [index, step] of steps.entries()) {
    const answer = await step.act(context).catch((error: unknown) => normal.refusal(error));
    const asked = side.asked().map((each) => normal.asked(each));
    const after = await untilStable(() => everything(side), index);
    replayed.push({ step: `${step.by}: ${step.what}`, answer, asked, after });
  }
  return replayed;
}

const KINDS: readonly ResourceType[] = [RESOURCE_QUOTAS, PODS, VMMRQS, MIGRATIONS];

/** Numbers versions for each step, because the number of the controller's writes is not compared. */
async function everything(side: Side): Promise<readonly unknown[]> {
  const normal = new Normaliser(side.namespace);
  const { namespace } = side;
  const cluster = side.as('tenant');
  const lists = await Promise.all(KINDS.map(async (type) => (await cluster.list(type, { namespace })).items));
  const own = await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace }));
  return [...(own === undefined ? [] : [own.object]), ...lists.flat()].map((object) =>
    withoutVersion(normal.object(object)),
  );
}

const withoutVersion = (object: unknown): unknown => {
  const { metadata, ...rest } = object as { metadata: Record<string, unknown> };
  const { resourceVersion: _, uid: __, ...kept } = metadata;
  return { ...rest, metadata: kept };
};
