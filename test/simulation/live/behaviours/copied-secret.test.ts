import { expect, test } from '@jest/globals';
import { aVm } from '../../../support/builders/live.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import { LIVE_ANNOTATION, LIVE_LABEL, LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import { SECRETS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';

interface Copied {
  /** The Plan that it was copied by; left out: the one that is there. */
  readonly plan?: string;
  /** Another VM that names it. */
  readonly user?: string;
}

test.each<[string, Copied, string[]]>([
  ['goes with a run that is canceled', {}, []],
  ['goes with it where the Plan was replaced meanwhile', { plan: 'uid-of-another' }, []],
  ['stays while another VM of the namespace uses it', { user: 'other' }, ['init']],
])('a Secret that the run has copied %s', async (_what, { plan: ofPlan, user }, left) => {
  const run = await ModelledRun.start();
  const { admin } = run.models.destination;
  const [plan, migration, vm] = [await run.plan(), await run.migration(), await run.vm()];
  await admin.create(SECRETS, {
    ...LIVE_KIND.secret,
    metadata: {
      ...{ name: 'init', namespace: 'target', labels: { [LIVE_LABEL.plan]: ofPlan ?? plan.metadata.uid } },
      annotations: { [LIVE_ANNOTATION.madeBy]: `${migration.metadata.uid} ${vm?.metadata.uid ?? ''}` },
    },
  });
  if (user !== undefined) {
    const { apiVersion, kind, spec } = aVm();
    const volumes = [{ name: 'init', cloudInitNoCloud: { secretRef: { name: 'init' } } }];
    const template = { ...spec.template, spec: { ...spec.template.spec, volumes } };
    const metadata = { name: user, namespace: 'target' };
    await admin.create(VIRTUAL_MACHINES, {
      apiVersion,
      kind,
      metadata,
      spec: { ...spec, template },
    } as never);
  }
  await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
  await run.resync();
  const [shown] = (await run.migration()).status?.vms ?? [];
  expect(conditionsOf(shown)).toEqual(['Canceled UserRequested']);
  const { items } = await admin.list(SECRETS, { namespace: 'target' });
  expect(items.map(({ metadata }) => metadata.name)).toEqual(left);
  const said = shown?.conditions?.flatMap(({ suggestion }) => suggestion ?? []);
  expect(said).toEqual(
    left.map((name) => `These stay on the target: Secret target/${name}. Delete by hand what nothing uses.`),
  );
});
