/** npm run demo: see DemoOptions; `--scenario NAME` (more than once) and `--verbose`. */
import { parseArgs } from 'node:util';
import { bundle } from '../build.ts';
import { ensureBinaries } from '../../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../../test/cluster/controlplane/binaries/report.ts';
import { runProgram } from '../../test/cluster/run-program.ts';
import { runDemo } from './demo.ts';
import { paletteFor } from './paint.ts';
import { SCENARIOS } from './scenarios.ts';

const NAMES = SCENARIOS.map(({ name }) => name);
const USAGE = `usage: npm run demo -- [--scenario ${NAMES.join('|')}]… [--verbose]`;

async function main(): Promise<void> {
  const { scenario = NAMES, verbose = false } = readArguments();
  const { hear, end } = reportProgress();
  await ensureBinaries(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kustomize'], hear).finally(end);
  await bundle();
  const scenarios = SCENARIOS.filter(({ name }) => scenario.includes(name));
  const out = process.stdout;
  const { ok } = await runDemo({ out, scenarios, verbose });
  const { good, bad, dim } = paletteFor(out);
  out.write(ok ? good('\nEvery check holds.\n') : bad('\nNot every check holds: see above.\n'));
  out.write(
    dim('npm run demo -- --verbose tells more; npm run local keeps a cluster up to try it yourself.\n'),
  );
  if (!ok) process.exitCode = 1;
}

function readArguments(): { scenario?: string[]; verbose?: boolean } {
  const { values } = parseArgs({
    options: { scenario: { type: 'string', multiple: true }, verbose: { type: 'boolean' } },
  });
  const unknown = values.scenario?.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no scenario ${unknown}`);
  return values;
}

await runProgram(main, USAGE);
