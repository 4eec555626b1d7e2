import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { resolveDestination } from '../../cluster/eventing/addresses.ts';
import { compileFilter } from '../../cluster/eventing/filter.ts';
import { STEPS } from '../../../functions/steps.ts';
import { knativeObjects } from '../../cluster/eventing/manifests.ts';

test('the stand-ins understand every Knative object of the default overlay', async () => {
  const folder = fileURLToPath(new URL('../../../config/base', import.meta.url));
  const { brokers, triggers, sources, services } = knativeObjects(await render(folder));
  expect([brokers, triggers, sources, services].map(({ length }) => length)).toEqual([
    1,
    STEPS.length,
    1,
    STEPS.length,
  ]);
  const names = services.map(({ metadata }) => `http://${metadata.name}.mtq-system.svc.cluster.local`);
  for (const { metadata, spec } of triggers) {
    expect(names).toContain(resolveDestination(spec.subscriber, metadata.namespace));
    expect(() => compileFilter(spec)).not.toThrow();
  }
});
