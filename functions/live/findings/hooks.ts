import { findingOf, problemsIn, type Finding } from '../../domain/live/conditions.ts';
import type { Hook, HookReference, Plan } from '../../domain/live/forklift.ts';
import { accountOf } from '../run/hook-job.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { hookFindings } from './maps.ts';
import type { PlanView } from './plan-view.ts';
import { named } from '../../domain/live/reference.ts';

const STEPS: readonly string[] = ['PreHook', 'PostHook'];

/** Problems of the hooks that a plan's VMs name: one condition for each kind, with each hook once. */
export function planHookFindings(view: PlanView): Finding[] {
  const { plan, hooks, missingAccounts } = view;
  const references = plan.spec.vms.flatMap(({ hooks: own = [] }) => own);
  const keysOf = (those: readonly HookReference[]): string[] => [
    ...new Set(those.map((reference) => keyOf(reference, plan))),
  ];
  const ofSteps = references.filter(({ step }) => STEPS.includes(step));
  const unset = keysOf(ofSteps.filter(({ hook }) => (hook.name ?? '') === ''));
  const set = keysOf(ofSteps.filter(({ hook }) => (hook.name ?? '') !== ''));
  const missing = set.filter((key) => !hooks.has(key));
  return [
    ...findingOf(keysOf(references.filter(({ step }) => !STEPS.includes(step))), {
      ...{ type: LIVE_CONDITION.hookStepNotValid, reason: 'NotValid', message: 'Hook step not valid.' },
      suggestion: 'Use PreHook or PostHook.',
    }),
    ...findingOf([...unset, ...missing], {
      ...{ type: LIVE_CONDITION.hookNotValid, reason: missing.length > 0 ? 'NotFound' : 'NotSet' },
      ...{ message: 'Hook not found.', suggestion: 'Create these Hooks, or name others.' },
    }),
    ...findingOf(
      set.flatMap((key) => problemsOf(key, hooks.get(key))),
      {
        ...{ type: LIVE_CONDITION.hookNotReady, reason: 'NotValid' },
        ...{ message: 'Hook does not have `Ready` condition.', suggestion: 'Correct these Hooks.' },
      },
    ),
    ...[...missingAccounts].flatMap((account) => accountFindings(account, view)),
  ];
}

const problemsOf = (key: string, hook: Hook | undefined): string[] =>
  hook === undefined ? [] : problemsIn(hookFindings(hook)).map((problem) => `${key}: ${problem}`);

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
