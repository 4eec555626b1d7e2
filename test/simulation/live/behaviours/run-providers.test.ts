import { describe, expect, test } from '@jest/globals';
import { rawText } from '../../../support/raw-text.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import { PROVIDERS, SECRETS } from '../../../../functions/kubernetes/live-resources.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const PROD = { namespace: 'vms', name: 'prod' };

/** A run under way whose Plan names, by now, the Provider of an admin, which has the URL and the token of the run's own. */
async function runByAnotherProvider(): Promise<ModelledRun> {
  const run = await ModelledRun.start();
  const { object: secret } = await run.hub.get(SECRETS, { namespace: 'tenant', name: 'destination' });
  const { spec } = await run.provider('destination');
  const { labels } = secret.metadata;
  await run.hub.create(SECRETS, { ...secret, metadata: { ...PROD, labels } } as never);
  await run.hub.create(PROVIDERS, { metadata: PROD, spec: { ...spec, secret: PROD } });
  await run.patchPlan({ spec: { provider: { destination: PROD } } });
  run.forbids = ({ name }) => name === PROD.name;
  return run;
}

describe('a run whose Plan names another Provider since it began', () => {
  test('sends nothing by it, holds neither it nor its Secret, and waits for its own', async () => {
    const run = await runByAnotherProvider();
    const before = run.requests.length;
    await run.resync();
    expect(run.requests.slice(before)).toEqual([]);
    expect((await run.held()).filter((one) => one.endsWith(' prod'))).toEqual([]);
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(vm?.conditions?.map(({ reason, message }) => [reason, rawText(message)])).toEqual([
      [
        'ClusterUnknown',
        expect.stringContaining('a provider is gone, or is not the one that the run began with'),
      ],
    ]);
  });

  test('goes on once the Plan names its own again', async () => {
    const run = await runByAnotherProvider();
    await run.resync();
    await run.patchPlan({
      spec: { provider: { destination: { namespace: 'tenant', name: 'destination' } } },
    });
    const before = run.requests.length;
    await run.resync();
    expect(run.requests.length).toBeGreaterThan(before);
  });
});

test('a run does not begin by a Plan that somebody has written last who may do less than who runs it', async () => {
  const run = await ModelledRun.prepareReady();
  const requester = JSON.stringify({ user: 'mallory', groups: [] });
  await run.patchPlan({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: requester } } });
  let asked = 0;
  // The first question is of the check of the plan, which shows it Ready.
  run.forbids = ({ resource }, user) => {
    asked += resource === 'providers' && user === 'mallory' ? 1 : 0;
    return resource === 'providers' && user === 'mallory' && asked > 1;
  };
  await run.resync();
  expect(conditionsOf((await run.plan()).status)).toEqual(['Ready']);
  expect(conditionsOf((await run.migration()).status)).toEqual(['NotAllowed Forbidden']);
  expect(await run.isRecorded()).toBe(false);
});
