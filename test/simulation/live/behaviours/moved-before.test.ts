import { beforeEach, describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { aVm } from '../../../support/builders/live.ts';
import { seconds } from '../../../support/builders/object.ts';
import { always, conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import type { LiveCondition, Plan, VmStatus } from '../../../../functions/domain/live/forklift.ts';
import { LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, PLANS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';
import { rawText } from '../../../support/raw-text.ts';

const AT = { namespace: 'vms', name: 'old' };
const time = seconds(0);
const condition = (type: string, reason?: string): LiveCondition => ({
  ...({ type, status: 'True', category: 'Advisory', durable: true, lastTransitionTime: time } as const),
  ...(reason !== undefined && { reason }),
});

/** An earlier run has moved `old`, and failed after that. The plan has `web` too, which has not moved. */
describe.each([
  ['', AT, { ...AT, name: 'web' }],
  [', by a plan that names no namespaces', { name: 'old' }, { name: 'web' }],
])('a VM that has moved, and whose PostHook has failed%s', (_how, ...entries) => {
  let run: ModelledRun;
  let id: string;

  beforeEach(async () => {
    run = await ModelledRun.prepareReady();
    const source = run.models.source.admin;
    const { template } = aVm().spec;
    const own = { ...template, spec: { ...template.spec, volumes: [] } };
    const spec = { ...aVm().spec, template: own, runStrategy: 'Halted' as const };
    const { object } = await source.create(VIRTUAL_MACHINES, { ...LIVE_KIND.vm, spec, metadata: AT });
    id = object.metadata.uid;
    await run.made(aReceiver(always), VIRTUAL_MACHINES, { id, name: 'old' });
    await run.patchPlan({ spec: { vms: entries } });
    const vm: VmStatus = {
      ...{ ...AT, id, phase: 'Completed', pipeline: [], started: time, completed: time },
      error: { phase: 'PostHook', reasons: ['the Job failed'] },
      conditions: [condition('CutOver'), condition('Failed', 'HookFailed')],
    };
    const status = { conditions: [condition('Failed')], migration: { vms: [vm] } };
    const at = { namespace: 'tenant', name: 'plan' };
    await run.hub.patch(PLANS, at, { merge: { status }, subresource: 'status' });
  });

  /** Whether the plan can run, and what it says of `old`. */
  const saidOf = ({ status }: Plan): string[] =>
    (status?.conditions ?? [])
      .filter(
        ({ type, items = [] }) => type === 'Ready' || items.some((item) => rawText(item).includes('old')),
      )
      .map(({ type, suggestion }) => [type, suggestion].map(rawText).filter(Boolean).join(': '));

  test('keeps no plan from being Ready, and is not to be started on the source', async () => {
    await run.resync('Plan');
    expect(saidOf(await run.plan())).toEqual(['Ready']);
  });

  test('keeps no plan from being Ready where its user has deleted the one on the source', async () => {
    await run.models.source.admin.delete(VIRTUAL_MACHINES, AT);
    await run.resync('Plan');
    expect(saidOf(await run.plan())).toEqual(['Ready']);
  });

  test('is not moved again, while the others move', async () => {
    await run.resync();
    const { status } = await run.migration();
    expect(status?.vms?.map(({ name, phase }) => `${name ?? ''} ${phase}`)).toEqual([
      'old Completed',
      'web CreateEmptyDataVolumes',
    ]);
    expect(conditionsOf(status?.vms?.[0])).toEqual(['CutOver', 'Failed HookFailed']);
    const { object } = await run.models.source.admin.get(VIRTUAL_MACHINES, AT);
    expect(object.metadata.annotations).toBeUndefined();
    expect(object.spec.runStrategy).toBe('Halted');
    expect(await run.onTarget()).toEqual(['old']);
  });

  test('is counted as moved at the end', async () => {
    await run.resync();
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.changed('Migration');
    const { status } = await run.migration();
    expect(status?.message).toBe('1 of 2 VMs moved; old: the Job failed');
    const { items } = await run.hub.list(PLAN_MIGRATIONS, {});
    expect(items.map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[]]);
  });
});
