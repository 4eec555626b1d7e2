import { expect, test } from '@jest/globals';
import { aPlanView } from '../../../test/support/builders/live-plan.ts';
import { aHook, aPlan } from '../../../test/support/builders/live.ts';
import { planHookFindings } from './hooks.ts';
import { rawText } from '../../../test/support/raw-text.ts';

test.each<[string, { namespace?: string }]>([
  ['its namespace', { namespace: 'tenant' }],
  ['no namespace', {}],
  ['an empty namespace', { namespace: '' }],
])('a hook of the plan’s namespace is found by %s', (_what, namespace) => {
  const vms = [{ name: 'web', hooks: [{ step: 'PreHook' as const, hook: { ...namespace, name: 'hook' } }] }];
  const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, vms } }));
  const hooks = new Map([['tenant/hook', aHook()]]);
  expect(planHookFindings(aPlanView({ plan, hooks }))).toEqual([]);
});

interface Accounts {
  readonly hook?: string;
  readonly plan?: string;
}

test.each<[string, Accounts, string[], string[]]>([
  ['of the hook', { hook: 'own' }, ['own'], ['HookServiceAccountNotValid Critical NotFound tenant/hook']],
  ['of the plan', { plan: 'all' }, ['all'], ['ServiceAccountNotValid Critical NotFound tenant/hook']],
  ['of the plan, which the hook does not use', { hook: 'own', plan: 'all' }, ['all'], []],
  ['of the plan, which the hook does without', { hook: '', plan: 'all' }, ['all'], []],
])('a service account that is missing: %s', (_what, ...[accounts, missing, wanted]) => {
  const hook = aHook((one) => ({
    ...one,
    spec: { ...one.spec, ...(accounts.hook !== undefined && { serviceAccount: accounts.hook }) },
  }));
  const both = (['PreHook', 'PostHook'] as const).map((step) => ({
    step,
    hook: { namespace: 'tenant', name: 'hook' },
  }));
  const plan = aPlan((one) => ({
    ...one,
    spec: {
      ...one.spec,
      ...(accounts.plan !== undefined && { serviceAccount: accounts.plan }),
      vms: one.spec.vms.map((vm) => ({ ...vm, hooks: both })),
    },
  }));
  const view = (missingAccounts: readonly string[]): ReturnType<typeof aPlanView> =>
    aPlanView({ plan, hooks: new Map([['tenant/hook', hook]]), missingAccounts: new Set(missingAccounts) });
  expect(planHookFindings(view([]))).toEqual([]);
  const findings = planHookFindings(view(missing));
  expect(
    findings.map(({ type, category, reason = '', items = [] }) =>
      [type, category, reason, ...items].map(rawText).join(' '),
    ),
  ).toEqual(wanted);
  for (const { message } of findings)
    expect(message).toBe(`ServiceAccount '${missing.join()}' not found in namespace 'tenant'.`);
});

test('hooks that are missing are in one condition, each once, whatever VMs and steps name them', () => {
  const both = (name: string): { step: 'PreHook' | 'PostHook'; hook: { name: string } }[] =>
    (['PreHook', 'PostHook'] as const).map((step) => ({ step, hook: { name } }));
  const vms = ['web', 'db'].map((name) => ({ name, hooks: [...both('gone'), ...both(''), ...both(name)] }));
  const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, vms } }));
  const findings = planHookFindings(aPlanView({ plan, hooks: new Map([['tenant/web', aHook()]]) }));
  expect(
    findings.map(({ type, reason = '', items = [] }) => [type, reason, ...items].map(rawText).join(' ')),
  ).toEqual(['HookNotValid NotFound tenant/ tenant/gone tenant/db']);
});
