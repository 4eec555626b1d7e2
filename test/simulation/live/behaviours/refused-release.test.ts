import { describe, expect, test } from '@jest/globals';
import { HELD, ModelledRun } from '../world/modelled-run.ts';
import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import { VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';

describe('a record that the source does not let the run take off', () => {
  const answer = (code: number, reason: string): ApiError =>
    new ApiError('the request', { code, reason, message: 'the policy says no' }, new Date(0));
  const isRelease = ({ metadata }: KubernetesObject): boolean =>
    metadata.annotations?.[LIVE_ANNOTATION.run] === undefined;

  test.each([false, true])('is left over until it does; given up: %s', async (isGivenUp) => {
    const run = await ModelledRun.start();
    run.refusesPut = (object) => (isRelease(object) ? answer(403, 'Forbidden') : undefined);
    if (isGivenUp) await run.breakGlass();
    else await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.resync();
    expect((await run.migration()).status?.leftovers).toEqual([
      expect.stringMatching(
        /^the record of VirtualMachine vms\/web: replace of .* is refused: .*the policy says no$/,
      ),
    ]);
    expect((await run.held()).sort()).toEqual(isGivenUp ? [] : HELD);
    run.refusesPut = () => undefined;
    await run.resync();
    expect(await run.isRecorded()).toBe(isGivenUp);
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.leftovers ?? []).toHaveLength(isGivenUp ? 1 : 0);
  });

  test('because another call has taken it off meanwhile: nothing is left over', async () => {
    const run = await ModelledRun.start();
    run.refusesPut = async (object) => {
      if (!isRelease(object)) return undefined;
      const { name, namespace = '' } = object.metadata;
      const merge = { metadata: { annotations: { [LIVE_ANNOTATION.run]: null } } };
      await run.models.source.admin.patch(VIRTUAL_MACHINES, { name, namespace }, { merge });
      return answer(403, 'Forbidden');
    };
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.resync();
    expect(await run.isRecorded()).toBe(false);
    expect(run.warnings).toEqual([]);
    expect((await run.migration()).status?.leftovers ?? []).toEqual([]);
    expect(await run.held()).toEqual([]);
  });

  test('because KubeVirt writes the VM at the same time: it is taken off, also of a run that is given up', async () => {
    const run = await ModelledRun.start();
    let conflicts = 1;
    run.refusesPut = (object) => {
      if (!isRelease(object) || conflicts === 0) return undefined;
      conflicts -= 1;
      return answer(409, 'Conflict');
    };
    await run.breakGlass();
    await run.resync();
    expect(conflicts).toBe(0);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
  });
});
