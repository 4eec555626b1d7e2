/** npm run demo: runs scenarios on this machine, prints their timelines, and checks them on the API server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../build.ts';
import { newScript, Option, runScript } from '../script.ts';
import { ensureBinaries } from '../../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../../test/cluster/controlplane/binaries/report.ts';
import { runDemo, type DemoOptions } from './demo.ts';
import { runClustersDemo } from './clusters/run.ts';
import { coloursFor } from './colours.ts';
import { renderPicture } from './pictures/picture.ts';
import { showPreflight } from './pictures/preflight-picture.ts';
import { needsOwnCluster, SCENARIOS, type Scenario } from './scenarios.ts';
import { renderTerminal } from './pictures/terminal-picture.ts';
import { THEMES } from './pictures/theme.ts';
import type { Line } from './timeline.ts';

const NAMES = SCENARIOS.map(({ name }) => name);

const DEMO = newScript(
  'demo',
  'Shows migrations past full quotas on a local cluster, and checks the end of each.',
)
  .addOption(new Option('--scenario <name...>', 'only these').choices(NAMES).default(NAMES, 'all'))
  .addOption(new Option('--clusters', 'moves of VMs between two clusters').conflicts(['scenario', 'picture']))
  .option('--verbose', 'more of each timeline')
  .option('--picture <folder>', "write the README's pictures to it");

interface Flags {
  readonly scenario: readonly string[];
  readonly clusters?: boolean;
  readonly verbose?: boolean;
  readonly picture?: string;
}

async function main(options: Flags): Promise<boolean> {
  const scenarios = scenariosOf(options);
  const { showProgress, end } = reportProgress();
  const kubectl = scenarios.some(({ kind }) => kind === 'drain') ? (['kubectl'] as const) : [];
  await ensureBinaries(
    ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kustomize', ...kubectl],
    showProgress,
  ).finally(end);
  await bundle();
  const out = process.stdout;
  const ok = options.clusters ? await runClustersDemo(out) : await runScenarios(scenarios, options);
  const { good, bad, dim } = coloursFor(out);
  out.write(ok ? good('\nEvery check holds.\n') : bad('\nNot every check holds: see above.\n'));
  out.write(
    dim('npm run demo -- --verbose shows more; npm run local keeps a cluster up to try it yourself.\n'),
  );
  return ok;
}

async function runScenarios(
  scenarios: readonly Scenario[],
  { verbose = false, picture }: Flags,
): Promise<boolean> {
  const timelines: (readonly Line[])[] = [];
  const ok = await runAll(scenarios, {
    out: process.stdout,
    verbose,
    onTimeline: (lines) => timelines.push(lines),
  });
  if (ok && picture !== undefined) await writePictures(picture, timelines.at(-1) ?? []);
  return ok;
}

function scenariosOf({ scenario, picture }: Flags): readonly Scenario[] {
  return picture === undefined ? SCENARIOS.filter(({ name }) => scenario.includes(name)) : pictureScenarios();
}

/** Runs the scenarios that share a cluster first, then each of the others. Stops at the first failure. */
async function runAll(scenarios: readonly Scenario[], options: DemoOptions): Promise<boolean> {
  const shared = scenarios.filter((scenario) => !needsOwnCluster(scenario));
  const groups = [shared, ...scenarios.filter(needsOwnCluster).map((scenario) => [scenario])];
  let firstNumber = 1;
  for (const group of groups.filter(({ length }) => length > 0)) {
    const { ok } = await runDemo({ ...options, scenarios: group, firstNumber });
    if (!ok) return false;
    firstNumber += group.length;
  }
  return true;
}

/** Runs the simplest scenario twice: the first run starts the functions, the picture shows the second one. */
function pictureScenarios(): Scenario[] {
  return SCENARIOS.slice(0, 1).flatMap((first) => {
    const tenants = first.tenants.map((tenant) => ({ ...tenant, namespace: `${tenant.namespace}-again` }));
    return [first, { ...first, title: `${first.title}, again`, tenants }];
  });
}

/** Writes the pictures of the README: a cycle and a preflight, light and dark. */
async function writePictures(folder: string, lines: readonly Line[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const preflight = await showPreflight();
  for (const theme of THEMES) {
    writeFileSync(join(folder, `cycle-${theme}.svg`), renderPicture(lines, theme));
    writeFileSync(join(folder, `preflight-${theme}.svg`), renderTerminal(preflight, theme));
  }
}

await runScript(DEMO, main);
