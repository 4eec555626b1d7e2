import { expect, test } from '@jest/globals';
import { KIND, REASON } from '../../functions/domain/names.ts';
import { PODS } from '../../functions/kubernetes/resources.ts';
import { lock } from '../../functions/lock/handle.ts';
import { named } from '../support/builders/object.ts';
import { LAUNCHER, launcherPod, migration, refused, running, TENANT, vmi } from './objects.ts';
import { aBlockedTenant, give, wakeUp } from './one-step.ts';

/** As the simulation found it (seed 427794 of its day): listed as refused with its pod there; its pods listed when it was over. */
test('a migration whose target has come and gone between two lists is not locked for', async () => {
  const mig0 = refused(migration('mig0', 'vm0'), 'uid-of-mig0');
  const listed = Promise.withResolvers<undefined>();
  const model = aBlockedTenant({
    pace: async ({ kind, verb, namespace, phase }) => {
      if (namespace !== TENANT || verb !== 'list') return;
      if (kind === KIND.migration.kind && phase === 'answer') listed.resolve(undefined);
      if (kind !== PODS.kind || phase !== 'arrive') return;
      await listed.promise;
      model.store.delete({ kind: PODS.kind, namespace: TENANT, name: target.metadata.name });
      model.store.put({ ...mig0, status: { phase: 'Failed' } });
    },
  });
  const takes = { migration: mig0, takes: LAUNCHER };
  const target = named('target')(running(launcherPod(vmi('vm0', 'uid-of-vm0'), takes)));
  model.store.put(target);
  give(model);
  expect(await wakeUp(lock, model)).toMatchObject({ reason: REASON.nothingBlocked });
});
