import { critical, type Finding } from '../../domain/live/conditions.ts';
import type { NamedReference, Plan } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView } from '../findings/plan-view.ts';
import { named } from '../../domain/live/reference.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { FORKLIFT_CONTROLLERS, PLANS } from '../../kubernetes/live-resources.ts';
import { listIfServed } from '../read/get.ts';
import type { MayKnowAccount } from '../read/missing-accounts.ts';
import type { MayKnowNamed } from '../read/plan-details.ts';
import { NO_PROVIDERS, readMaps, readPlanView, type PlanProviders, type Seen } from '../read/plan-view.ts';
import { UnknownCluster } from '../read/unknown-cluster.ts';
import { ARCHIVED, planFindings } from '../findings/plan.ts';
import { checkProvider, type Checking } from './check-referred.ts';
import { hostsOf, reviewOf } from './requester-review.ts';
import {
  RIGHT_TO_LIST_VMS,
  rightsToCheck,
  rightsToCopy,
  rightsToLook,
  rightsToNeighbours,
  rightsToNetworks,
  rightToReadAccount,
} from './rights-needed.ts';
import { writeFindings } from './write-findings.ts';

/** Whether Forklift itself runs the plans of this cluster: two controllers would undo each other's conditions. */
export const isForkliftHere = async (hub: Reader): Promise<boolean> =>
  (await forkliftControllers(hub)).length > 0;

/** Forklift's own objects; none if it is not installed. */
export const forkliftControllers = (hub: Reader): Promise<KubernetesObject[]> =>
  listIfServed(hub.list(FORKLIFT_CONTROLLERS, {}));

/** A plan, with whether it can run. */
export interface CheckedPlan {
  readonly plan: Plan;
  readonly isReady: boolean;
  /** The view; undefined if a cluster does not answer, or the requester lacks a right. */
  readonly view: PlanView | undefined;
  /** The providers, as the check has read and written them. */
  readonly providers: PlanProviders;
}

type Found = Omit<CheckedPlan, 'plan' | 'isReady'> & { readonly findings: readonly Finding[] };

/** Checks the plan as far as its requester may look, and writes its findings, and those of its providers. */
export async function checkPlan(plan: Plan, checking: Checking): Promise<CheckedPlan> {
  const { view, providers, findings } = await lookAt(plan, checking);
  const checked = await writeFindings(PLANS, { object: plan, findings }, checking);
  return {
    plan: checked,
    view,
    providers,
    isReady: findings.some(({ type }) => type === LIVE_CONDITION.ready),
  };
}

/** Writes the findings of an archived plan. The results of its runs stay. */
export const writeArchived = (plan: Plan, checking: Checking): Promise<Plan> =>
  writeFindings(PLANS, { object: plan, findings: ARCHIVED }, checking);

/** Asks for the rights to what the plan names before that is read; then for those to what is read by it. */
async function lookAt(plan: Plan, checking: Checking): Promise<Found> {
  const { hub } = checking;
  const review = await reviewOf([plan], hub);
  const refusal = await review(rightsToCheck(plan));
  if (refusal !== undefined) return refused(refusal);
  const { provider } = plan.spec as Partial<Plan['spec']>;
  const providers: PlanProviders = {
    source: await checkNamed(provider?.source, plan, checking),
    destination: await checkNamed(provider?.destination, plan, checking),
  };
  const hosts = hostsOf(providers);
  const maps = await readMaps(plan, hub);
  const unseen = await review([
    ...rightsToLook(plan, hosts),
    ...(maps.networks === undefined ? [] : rightsToNetworks(maps.networks, hosts)),
  ]);
  if (unseen !== undefined) return refused(unseen, providers);
  const hasMacs = !hosts.isTarget || (await review([RIGHT_TO_LIST_VMS])) === undefined;
  const hasNeighbours = !hosts.isSource || (await review(rightsToNeighbours(plan))) === undefined;
  const mayKnowAccount: MayKnowAccount = async (at) => (await review([rightToReadAccount(at)])) === undefined;
  const mayKnowNamed: MayKnowNamed = async (vm) =>
    !hosts.isSource || (await review(rightsToCopy(vm))) === undefined;
  return findingsOf(plan, { providers, maps, hasMacs, hasNeighbours, mayKnowAccount, mayKnowNamed }, hub);
}

const refused = (refusal: Finding, providers = NO_PROVIDERS): Found => ({
  ...{ view: undefined, providers },
  findings: [refusal],
});

/** Checks a provider that the plan names. A reference without a namespace is to an object in the plan's. */
const checkNamed = async (
  reference: NamedReference | undefined,
  { metadata: { namespace = '' } }: Plan,
  checking: Checking,
): ReturnType<typeof checkProvider> =>
  reference?.name ? checkProvider({ namespace, ...named(reference) }, checking) : undefined;

async function findingsOf(plan: Plan, seen: Seen, hub: Reader): Promise<Found> {
  try {
    const view = await readPlanView(plan, seen, hub);
    return { view, providers: seen.providers, findings: planFindings(view) };
  } catch (error) {
    if (!(error instanceof UnknownCluster)) throw error;
    const type =
      error.side === 'source'
        ? LIVE_CONDITION.sourceProviderNotReady
        : LIVE_CONDITION.destinationProviderNotReady;
    const suggestion =
      'Give the service account of the token the roles that plans need, and check the network.';
    return {
      ...{ view: undefined, providers: seen.providers },
      findings: [critical(type, 'NotKnown', { message: error.message, suggestion })],
    };
  }
}
