import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { MAINTENANCE_CHANGED, MAINTENANCE_EVENT } from '../../../functions/domain/progress/names.ts';
import { owesEvents, type MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import { startMaintenanceScene, type MaintenanceScene } from '../../support/maintenance/maintenance-scene.ts';

/** Any pod of the cluster may post events to the Broker. They only trigger a look. */

let scene: MaintenanceScene;
let before: MaintenanceProgress;

beforeAll(async () => {
  scene = await startMaintenanceScene();
  await scene.node('cordoned', { unschedulable: true });
  await scene.vm('cordoned', 'vm0');
  await scene.node('draining', { unschedulable: true });
  await scene.vm('draining', 'vm0');
  await scene.evacuate('draining', 'vm0');
  before = await scene.untilDrain('draining', (found) => found?.status !== undefined && !owesEvents(found));
});

afterAll(async () => {
  await scene.stop();
});

let ids = 0;

/** Resolves when the Broker has delivered it, with the answers of `progress`: more than one where it was retried. */
async function forge(data: unknown, type: string = MAINTENANCE_CHANGED): Promise<(number | undefined)[]> {
  const { environment } = scene;
  ids += 1;
  const id = `forged-${String(ids)}`;
  await fetch(environment.cluster.eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...{ 'ce-specversion': '1.0', 'ce-id': id, 'ce-type': type, 'ce-source': '/mtq/guard' },
    },
    body: JSON.stringify(data),
  });
  await environment.cluster.eventing.broker.idle();
  return environment.hops.items.flatMap((hop) =>
    hop.trigger === 'mtq-progress' && hop.id === id ? [hop.status] : [],
  );
}

const FORGED: Record<string, readonly [data: unknown, answers: readonly number[]]> = {
  'of a node that does not exist': [{ kind: 'Drain', node: 'nowhere' }, [204]],
  'of a node that is only cordoned': [{ kind: 'Drain', node: 'cordoned' }, [204]],
  'of a drain that is up to date': [{ kind: 'Drain', node: 'draining' }, [204]],
  'of an upgrade that is none': [{ kind: 'Upgrade' }, [204]],
  'that says what to write': [
    { kind: 'Drain', node: 'draining', left: [], state: 'Completed', current: { status: {} } },
    [204],
  ],
  'of no node': [{ kind: 'Drain' }, [400]],
  'of a path': [{ kind: 'Drain', node: '../view?namespace=draining' }, [400]],
  'of a long name': [{ kind: 'Drain', node: 'x'.repeat(100_000) }, [400]],
  'of another kind': [{ kind: 'Reboot', node: 'draining' }, [400]],
  'without data': [null, [400]],
};

test.each(Object.entries(FORGED))(
  'an event %s changes nothing, and is not retried',
  async (_, [data, want]) => {
    expect(await forge(data)).toEqual(want);
    const { items } = await scene.admin.list(PROGRESSES, {});
    expect(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])).toEqual([
      [before.metadata.name, before.metadata.resourceVersion],
    ]);
  },
);

test('an event of a drain, as for subscribers, triggers no function', async () => {
  expect(await forge({ name: before.metadata.name }, MAINTENANCE_EVENT.drainCompleted)).toEqual([]);
});
