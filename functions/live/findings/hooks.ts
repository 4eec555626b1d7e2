import { critical, findingOf, problemsIn, type Finding } from '../../domain/live/conditions.ts';
import type { Hook, HookReference, Plan } from '../../domain/live/forklift.ts';
import { accountOf } from '../run/hook-job.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { hookFindings } from './maps.ts';
import type { PlanView } from './plan-view.ts';
import { named } from '../../domain/live/reference.ts';

const STEPS: readonly string[] = ['PreHook', 'PostHook'];

/** Problems of the hooks that a plan's VMs name, each hook once. */
export function planHookFindings(view: PlanView): Finding[] {
  const { plan, missingAccounts } = view;
  const references = new Map(
    plan.spec.vms
      .flatMap(({ hooks: own = [] }) => own)
      .map((each) => [`${each.step} ${keyOf(each, plan)}`, each]),
  );
  return [
    ...[...references.values()].flatMap((reference) => findingsOf(reference, view)),
    ...[...missingAccounts].flatMap((account) => accountFindings(account, view)),
  ];
}

/**
 * Service accounts of hooks that are missing. Forklift looks in the target namespace, where no pod of mtq runs: the pods of hooks run
 * beside the plan.
 */
function accountFindings(account: string, { plan, hooks }: PlanView): Finding[] {
  const hooksWith = (isOwn: (hook: Hook) => boolean): string[] =>
    [...hooks].flatMap(([key, hook]) => (accountOf(hook, plan) === account && isOwn(hook) ? [key] : []));
  const namesIt = ({ spec }: Hook): boolean => spec.serviceAccount !== undefined;
  const message = `ServiceAccount '${account}' not found in namespace '${plan.metadata.namespace ?? ''}'.`;
  return [
    ...findingOf(hooksWith(namesIt), {
      ...{ type: LIVE_CONDITION.hookServiceAccountNotValid, reason: 'NotFound', message },
      suggestion: 'Create it, or name another one in these hooks.',
    }),
    ...findingOf(
      hooksWith((hook) => !namesIt(hook)),
      {
        ...{ type: LIVE_CONDITION.serviceAccountNotValid, reason: 'NotFound', message },
        suggestion: 'Create it, or name another one in spec.serviceAccount.',
      },
    ),
  ];
}

/** Returns the key of the Hook. A reference without a namespace is to a Hook in the plan's. */
function keyOf({ hook }: HookReference, { metadata: { namespace: ofPlan = '' } }: Plan): string {
  const { namespace, name } = { namespace: ofPlan, ...named(hook) };
  return `${namespace}/${name}`;
}

function findingsOf(reference: HookReference, { plan, hooks }: PlanView): Finding[] {
  const key = keyOf(reference, plan);
  const items = [key];
  if (!STEPS.includes(reference.step))
    return [
      critical(LIVE_CONDITION.hookStepNotValid, 'NotValid', {
        message: 'Hook step not valid.',
        suggestion: 'Use PreHook or PostHook.',
        items,
      }),
    ];
  const message = 'Hook not found.';
  if ((reference.hook.name ?? '') === '')
    return [critical(LIVE_CONDITION.hookNotValid, 'NotSet', { message, suggestion: 'Name a Hook.', items })];
  const hook = hooks.get(key);
  if (hook === undefined)
    return [
      critical(LIVE_CONDITION.hookNotValid, 'NotFound', {
        message,
        suggestion: `Create the Hook ${key}.`,
        items,
      }),
    ];
  return findingOf(
    problemsIn(hookFindings(hook)).map((problem) => `${key}: ${problem}`),
    {
      type: LIVE_CONDITION.hookNotReady,
      reason: 'NotValid',
      message: 'Hook does not have `Ready` condition.',
      suggestion: `Correct the Hook ${key}.`,
    },
  );
}
