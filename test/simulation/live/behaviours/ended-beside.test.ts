import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { aVm } from '../../../support/builders/live.ts';
import { seconds } from '../../../support/builders/object.ts';
import { conditionsOf, END, ModelledRun } from '../world/modelled-run.ts';
import type { VmStatus } from '../../../../functions/domain/live/forklift.ts';
import { withRecord, type RunRecord } from '../../../../functions/live/run/record.ts';
import { LIVE_ANNOTATION, LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';

describe('a VM that has ended, while another one is under way', () => {
  const AT = { namespace: 'vms', name: 'worker' };

  /** `web` is under way, and `worker` has ended as this. */
  async function startBeside(type: 'Succeeded' | 'Canceled'): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    await run.resync();
    const vm = { ...LIVE_KIND.vm, spec: aVm().spec, metadata: AT };
    const { object } = await run.models.source.admin.create(VIRTUAL_MACHINES, vm);
    const time = seconds(0);
    const ended: VmStatus = {
      ...{ ...AT, id: object.metadata.uid, phase: 'Completed', pipeline: [], started: time, completed: time },
      conditions: [{ type, status: 'True', category: 'Advisory', durable: true, lastTransitionTime: time }],
    };
    await run.patchPlan({ spec: { vms: [...(await run.plan()).spec.vms, AT] } });
    const vms = [...((await run.migration()).status?.vms ?? []), ended];
    const at = { namespace: 'tenant', name: 'migration' };
    await run.hub.patch(PLAN_MIGRATIONS, at, { merge: { status: { vms } }, subresource: 'status' });
    return run;
  }

  /** As the guard looks again. */
  async function requestsOfSweep(run: ModelledRun): Promise<string[]> {
    await run.resync();
    run.requests.length = 0;
    await run.resync();
    return [...run.requests];
  }

  const isWorkerRecorded = async (run: ModelledRun): Promise<boolean> => {
    const { object } = await run.models.source.admin.get(VIRTUAL_MACHINES, AT);
    return object.metadata.annotations?.[LIVE_ANNOTATION.run] !== undefined;
  };

  test.each(['Succeeded', 'Canceled'] as const)('costs one request: %s', async (type) => {
    const alone = await requestsOfSweep(await ModelledRun.start());
    const run = await startBeside(type);
    const requests = await requestsOfSweep(run);
    expect(requests.sort()).toEqual([...alone, 'get VirtualMachine on source'].sort());
    const [, vm] = (await run.migration()).status?.vms ?? [];
    expect(vm).toMatchObject({ completed: seconds(0), conditions: [{ type }] });
  });

  test('costs one request too where its VM on the source was deleted after its success', async () => {
    const run = await startBeside('Succeeded');
    await run.models.source.admin.delete(VIRTUAL_MACHINES, AT);
    expect(await requestsOfSweep(run)).toHaveLength(
      (await requestsOfSweep(await ModelledRun.start())).length + 1,
    );
  });

  test('loses its record, where a process ended before it took that off', async () => {
    const run = await startBeside('Canceled');
    const record = (await run.vm())?.metadata.annotations?.[LIVE_ANNOTATION.run] ?? '';
    const { object } = await run.models.source.admin.get(VIRTUAL_MACHINES, AT);
    const own = { ...(JSON.parse(record) as RunRecord), vm: object.metadata.uid, end: END };
    await run.models.source.admin.replace(VIRTUAL_MACHINES, withRecord(object, own));
    expect(await isWorkerRecorded(run)).toBe(true);
    await run.resync();
    expect(await isWorkerRecorded(run)).toBe(false);
    expect((await run.migration()).status).not.toHaveProperty('completed');
  });

  test('whose VM was deleted, and which made something all the same, says what is left over', async () => {
    const run = await startBeside('Canceled');
    const id = (await run.migration()).status?.vms?.[1]?.id ?? '';
    await run.made(aReceiver(), VIRTUAL_MACHINES, { id, name: 'worker' });
    await run.models.source.admin.delete(VIRTUAL_MACHINES, AT);
    await run.resync();
    expect((await run.migration()).status?.leftovers).toEqual(['VirtualMachine target/worker']);
  });

  test('while its cluster does not answer: nothing is known of it either', async () => {
    const run = await startBeside('Canceled');
    run.away.add('source');
    await run.resync();
    run.away.clear();
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.resync();
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.vms?.map(conditionsOf)).toEqual([
      ['Canceled UserRequested'],
      ['Canceled'],
    ]);
  });
});
