import { expect, test } from '@jest/globals';
import { isFinal } from '../../functions/domain/migration.ts';
import type { Migration, Pod } from '../../functions/domain/objects.ts';
import { MIGRATIONS, PODS, VMIS } from '../../functions/kubernetes/resources.ts';
import { annotated } from '../support/builders/object.ts';
import { smallCase } from './exhaustive.ts';
import { TENANT } from './objects.ts';
import { World } from './world.ts';

/** As the simulation found it (seed 120803 of its day): the VM was left without a pod, and its next migration was never tried. */
test('a migration that is to fail when its VM is over there already does not take the VM’s pod with it', async () => {
  const world = new World(smallCase(1), { plan: [] });
  const theMigration = (): Migration | undefined => world.store.list<Migration>(MIGRATIONS.kind, TENANT)[0];
  world.store.onChange(({ kind }) => {
    const migration = theMigration();
    if (kind !== VMIS.kind || migration === undefined) return;
    world.virt.failing.add(migration.metadata.uid);
    // What virt-controller writes next is a conflict: it comes back to it.
    world.write('admin', annotated('theirs', 'x')(migration));
  });
  world.start();
  for (let seen = theMigration(); seen === undefined || !isFinal(seen); seen = theMigration()) {
    if (!(await world.schedule.turn())) await world.schedule.skip();
  }
  expect(theMigration()).toMatchObject({
    metadata: { annotations: { theirs: 'x' } },
    status: { phase: 'Succeeded' },
  });
  const launchers = world.store.list<Pod>(PODS.kind, TENANT).filter(({ metadata }) => metadata.generateName);
  expect(launchers).toMatchObject([{ status: { phase: 'Running' } }]);
});
