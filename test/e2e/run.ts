import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import type { History } from '../support/tenant/history.ts';
import { invariantViolations } from '../support/invariants/invariants.ts';
import type { Case } from './junit.ts';
import { differences } from './match.ts';
import type { Expectation, Scenario } from './scenario.ts';
import { close, createGiven, open, type World } from './environment.ts';
import { until } from './until.ts';

/** Runs one scenario in its own namespace and deletes that afterwards. Never rejects. */
export async function runScenario(scenario: Scenario, world: World): Promise<Case> {
  const began = performance.now();
  const failures: string[] = [];
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      failures.push(describeError(error));
    }
  };
  await attempt(() => perform(scenario, world));
  if (!world.options.keep) await attempt(() => close(scenario, world));
  const failure = failures.length === 0 ? undefined : failures.join('\n');
  return { name: scenario.name, seconds: (performance.now() - began) / 1_000, failure };
}

async function perform(scenario: Scenario, world: World): Promise<void> {
  const history = await open(scenario, world);
  try {
    await createGiven(scenario, world, history);
    const wait = { what: 'then.yaml', seconds: world.options.seconds.E2E_THEN_SECONDS, signal: world.signal };
    await until(wait, () => scenario.then.flatMap((wanted) => missing(wanted, history)).join('\n'));
    const broken = invariantViolations(history);
    if (broken.length > 0) throw new Error(`an invariant was broken on the way:\n${broken.join('\n')}`);
  } finally {
    await history.stop();
  }
}

/** The differences that remain; empty when some object matches. */
function missing(wanted: Expectation, history: History): string[] {
  const what = `${wanted.kind} ${wanted.metadata?.name ?? '(any)'}`;
  const { apiVersion: _apiVersion, kind, ...rest } = wanted;
  const found = newestOf(history, kind).map((object) => differences(rest, object));
  if (found.some((each) => each.length === 0)) return [];
  // The object with the fewest differences explains best what is missing.
  const nearest = found.toSorted((one, other) => one.length - other.length)[0];
  return nearest === undefined ? [`${what}: there is none`] : nearest.map((each) => `${what}: ${each}`);
}

/** The existing objects of a kind. */
function newestOf(history: History, wanted: string): KubernetesObject[] {
  const byUid = new Map<string, KubernetesObject>();
  for (const { kind, object, gone } of history.versions()) {
    if (kind !== wanted) continue;
    if (gone) byUid.delete(object.metadata.uid);
    else byUid.set(object.metadata.uid, object);
  }
  return [...byUid.values()];
}
