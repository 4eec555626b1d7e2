import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import * as names from '../../functions/domain/names.ts';
import {
  entriesOf,
  generatedSections,
  REGISTRIES,
  renderReference,
  type Registry,
} from '../../hack/reference/render.ts';
import { readGuardSettings, readSettings } from '../../functions/runtime/settings.ts';
import { render } from '../cluster/controlplane/kustomize.ts';
import { METRIC } from '../../webhook/observability/metric-names.ts';

const root = new URL('../../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');

const DOCUMENTED = Object.keys(REGISTRIES) as Registry[];
const VARIABLES = 'Environment variables';
const QUOTAS = 'Which quotas are understood';

describe('functions/domain/names.ts ⇄ docs/reference.md', () => {
  const registry = read('functions/domain/names.ts');
  const reference = read('docs/reference.md');

  test('docs/reference.md is what `npm run reference` writes', () => {
    expect(reference).toBe(renderReference(reference, registry));
  });

  test('by hand it has only the variables and the quotas, at its end', () => {
    const headings = [...reference.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([...generatedSections(registry).keys(), VARIABLES, QUOTAS]);
  });

  test.each(DOCUMENTED)('%s: every name has exactly one sentence', (constant) => {
    const values = Object.values<string>(names[constant]);
    expect(entriesOf(registry, constant).map(([value]) => value)).toEqual(values);
    expect(new Set(values).size).toBe(values.length);
  });
});

describe('webhook/observability/metric-names.ts ⇄ docs', () => {
  const metrics = Object.values(METRIC);

  test("each follows Prometheus' naming conventions: our prefix, _total for a counter, _seconds for a time", () => {
    for (const { name, type, help } of metrics) {
      expect(name).toMatch(/^(?:mtq|process)_[a-z]+(?:_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (help.startsWith('How long')) expect(name).toMatch(/_seconds$/);
    }
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
  });

  test('docs/operations.md mentions no other metrics', () => {
    const known: string[] = metrics.map(({ name }) => name);
    const mentioned = read('docs/operations.md').match(/\bmtq_[a-z_]+/g) ?? [];
    expect(mentioned.length).toBeGreaterThan(0);
    expect(mentioned.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('no name is dead', () => {
  const code = ['functions', 'webhook', 'kubectl', 'hack', 'test/cluster']
    .flatMap(sourcesIn)
    .map(read)
    .join('\n');

  test.each([
    // The API server uses the policies' names, not the code: test/contract/policies.test.ts.
    ...DOCUMENTED.filter((constant) => constant !== 'POLICY'),
    'KUBEVIRT',
    'KIND',
    'SOURCE_EVENT',
    'WEBHOOK',
  ] as const)('%s: every one is used', (constant) => {
    const keys = Object.keys(names[constant]).map((key) => `${constant}.${key}`);
    const unused = keys.filter((name) => !new RegExp(String.raw`\b${name.replace('.', '\\.')}\b`).test(code));
    expect(unused).toEqual([]);
  });
});

describe('functions/runtime/settings.ts ⇄ docs/reference.md ⇄ manifests', () => {
  const SINK = 'http://broker.test/';
  const variables = [...read('functions/runtime/settings.ts').matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(
    ([, name = '']) => name,
  );
  let environments: readonly Environment[];

  beforeAll(async () => {
    environments = environmentsIn(await render('config/base'));
  });

  test('every variable has an entry, and every entry is a variable', () => {
    expect(
      settingsRows()
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...variables].sort());
  });

  test('every documented default is the default of the code', () => {
    const presets = { ...readSettings({ K_SINK: SINK }), ...readGuardSettings({ K_SINK: SINK }) };
    const { K_SINK: _required, ...mentioned } = presets;
    const documented = Object.fromEntries(settingsRows().map(({ name, preset }) => [name, preset]));
    for (const [name, preset] of Object.entries(mentioned)) {
      const text = Array.isArray(preset) ? 'none' : String(preset);
      expect([name, documented[name]]).toEqual([name, text]);
    }
  });

  /** Read by Node.js itself. */
  const OF_NODE = 'NODE_OPTIONS';

  test('the manifests set only variables that exist', () => {
    expect(environments.length).toBe(7);
    const unknown = environments.flatMap(({ of, set }) =>
      set.filter((name) => ![...variables, OF_NODE].includes(name)).map((name) => `${of}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test('the guard gets only variables of the guard', () => {
    const guard = environments.find(({ of }) => of === 'mtq-guard')?.set ?? [];
    const known = Object.keys(readGuardSettings({ K_SINK: SINK, KUBECONFIG: 'x' }));
    expect(guard.filter((name) => !known.includes(name))).toEqual([]);
  });

  test('only the files that start a process read the environment', () => {
    const reading = ['functions', 'webhook', 'kubectl']
      .flatMap(sourcesIn)
      .filter((file) => read(file).includes('process.env'));
    expect(reading.sort()).toEqual([
      'functions/index.ts',
      // KUBERNETES_SERVICE_HOST: Kubernetes' own way to say that this is a cluster.
      'functions/kubernetes/api-server.ts',
      'functions/live/watcher/main.ts',
      'functions/main.ts',
      'webhook/main.ts',
    ]);
  });
});

/** Entries "- `NAME` (process; default): what" of the environment variables. */
function settingsRows(): { name: string; preset: string }[] {
  const entries = sectionOf(read('docs/reference.md'), VARIABLES).matchAll(/^- `(.*?)` \(.*?; (.*?)\): /gm);
  return [...entries].map(([, name = '', preset = '']) => ({ name, preset }));
}

function sectionOf(markdown: string, heading: string): string {
  return markdown.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

function sourcesIn(folder: string): string[] {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== 'domain/names.ts')
    .map((file) => `${folder}/${file}`);
}

interface Environment {
  readonly of: string;
  readonly set: readonly string[];
}

interface Workload {
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { env?: { name: string }[] }[] } };
  };
}

const environmentsIn = (objects: readonly Workload[]): Environment[] =>
  objects.flatMap(({ metadata, spec }) =>
    (spec?.template?.spec?.containers ?? []).map(({ env = [] }) => ({
      of: metadata.name,
      set: env.map(({ name }) => name),
    })),
  );
