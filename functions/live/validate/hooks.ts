import { critical, has, type Finding } from '../../domain/live/conditions.ts';
import type { HookReference } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView } from '../../domain/live/plan-view.ts';

const STEPS: readonly string[] = ['PreHook', 'PostHook'];

/** Problems of the hooks that a plan's VMs name, each hook once. */
export function planHookFindings({ plan, hooks }: PlanView): Finding[] {
  const references = new Map(
    plan.spec.vms.flatMap(({ hooks: own = [] }) => own).map((each) => [`${each.step} ${keyOf(each)}`, each]),
  );
  return [...references.values()].flatMap((reference) => findingsOf(reference, hooks));
}

const keyOf = ({ hook: { namespace = '', name = '' } }: HookReference): string => `${namespace}/${name}`;

function findingsOf(reference: HookReference, hooks: PlanView['hooks']): Finding[] {
  const key = keyOf(reference);
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
  if (has(hook.status, LIVE_CONDITION.ready)) return [];
  return [
    {
      type: LIVE_CONDITION.hookNotReady,
      category: 'Critical',
      message: 'Hook does not have `Ready` condition.',
      suggestion: `See the conditions of Hook ${key}.`,
      items,
    },
  ];
}
