/** npm run test:e2e: the scenarios against the cluster of KUBECONFIG (docs/installing.md#see-that-it-works). */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { connect } from '../../functions/kubernetes/client.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { runScript } from '../../hack/script.ts';
import { untilInstalled } from './installation.ts';
import { junit, type Case } from './junit.ts';
import { E2E, readOptions, type Flags, type Options } from './options.ts';
import { runScenario } from './run.ts';
import { loadScenarios, type Scenario } from './scenario.ts';
import { RUN_LABEL, type World } from './environment.ts';

const SUITE = 'managed-tenant-quota';

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

async function main(flags: Flags): Promise<boolean> {
  const options = readOptions(flags, process.env);
  const scenarios = await loadScenarios(options.scenarios);
  const ending = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const { signal } = ending;
  const run = Date.now().toString(36);
  const world: World = { cluster: connect(options.kubeconfig, 'mtq-e2e'), options, run, signal };
  print(`run ${run}; what it makes has the label ${RUN_LABEL}=${run}`);

  const installed = printResult(await installation(world));
  const cases = [
    installed,
    ...(installed.failure === undefined ? await runAll(scenarios, world, options) : []),
  ];
  await report(options, cases);
  return cases.every(({ failure }) => failure === undefined) && !signal.aborted;
}

/** Runs `parallel` scenarios at a time, started in order. After an interrupt it starts no more. */
async function runAll(scenarios: readonly Scenario[], world: World, { parallel }: Options): Promise<Case[]> {
  const cases: Case[] = [];
  const waiting = [...scenarios];
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !world.signal.aborted; next = waiting.shift()) {
      const result = await runScenario(next, world);
      print(`\n${next.name}: ${next.about}`);
      cases.push(printResult(result));
    }
  };
  await Promise.all(Array.from({ length: parallel }, runNext));
  return cases;
}

/** The precondition of all scenarios. */
async function installation({ cluster, options, signal }: World): Promise<Case> {
  const began = performance.now();
  const { standIns, seconds } = options;
  const failure = await untilInstalled({
    cluster,
    standIns,
    seconds: seconds.E2E_INSTALLED_SECONDS,
    signal,
  }).then(() => undefined, describeError);
  return { name: 'installation', seconds: (performance.now() - began) / 1_000, failure };
}

function printResult(result: Case): Case {
  const { name, seconds, failure } = result;
  print(`${failure === undefined ? 'ok  ' : 'FAIL'} ${name} (${seconds.toFixed(1)} s)`);
  if (failure !== undefined) print(failure.replaceAll(/^/gm, '     '));
  return result;
}

async function report({ junit: file }: Options, cases: readonly Case[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, junit(SUITE, cases));
  const failed = cases.filter(({ failure }) => failure !== undefined).length;
  print(`\n${String(cases.length - failed)} passed, ${String(failed)} failed; ${file}`);
}

await runScript(E2E, main);
