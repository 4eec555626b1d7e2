import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';

/** Part of an object that must match. Without a name, some object of that kind must match. */
export interface Expectation {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}

/** A folder of test/e2e/scenarios. */
export interface Scenario {
  readonly name: string;
  /** The comment at the top of given.yaml. */
  readonly about: string;
  /** Created in this order, each after the previous one has settled. A Namespace here configures the scenario's own. */
  readonly given: readonly KubernetesObject[];
  /** At some point all of these must hold at the same time. */
  readonly then: readonly Expectation[];
}

const folder = fileURLToPath(new URL('scenarios/', import.meta.url));

/** The names of all scenarios, sorted. */
export const scenarioNames = (): string[] => readdirSync(folder).toSorted();

/** All scenarios, or those with the names. */
export const loadScenarios = (names: readonly string[] = []): Promise<Scenario[]> =>
  Promise.all(
    scenarioNames()
      .filter((name) => names.length === 0 || names.includes(name))
      .map(load),
  );

async function load(name: string): Promise<Scenario> {
  const [given, then] = await Promise.all(
    ['given.yaml', 'then.yaml'].map((file) => readFile(join(folder, name, file), 'utf8')),
  );
  return {
    name,
    about: aboutOf(given ?? ''),
    given: objectsOf(given ?? ''),
    then: objectsOf(then ?? '') as readonly Expectation[],
  };
}

function aboutOf(text: string): string {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('#'));
  return lines
    .slice(0, end)
    .map((line) => line.slice(1).trim())
    .join(' ');
}
