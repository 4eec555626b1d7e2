/** npm run demo: see DemoOptions; `--scenario NAME` (more than once) and `--verbose`. */
import { parseArgs } from 'node:util';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { bundle } from '../build.ts';
import { ensureBinaries } from '../controlplane/binaries/ensure.ts';
import { reportProgress } from '../controlplane/binaries/report.ts';
import { isLeaving } from '../controlplane/exit.ts';
import { runDemo } from './demo.ts';
import { paletteFor } from './paint.ts';
import { SCENARIOS } from './scenarios.ts';

const NAMES = SCENARIOS.map(({ name }) => name);
const USAGE = `usage: npm run demo -- [--scenario ${NAMES.join('|')}]… [--verbose]`;

async function main(): Promise<number> {
  const { scenario = NAMES, verbose = false } = readArguments();
  const { hear, end } = reportProgress();
  try {
    await ensureBinaries(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kustomize'], hear);
  } finally {
    end();
  }
  await bundle();
  const scenarios = SCENARIOS.filter(({ name }) => scenario.includes(name));
  const out = process.stdout;
  const { ok } = await runDemo({ out, scenarios, verbose });
  const { good, bad, dim } = paletteFor(out);
  out.write(ok ? good('\nEvery check holds.\n') : bad('\nNot every check holds: see above.\n'));
  out.write(
    dim('npm run demo -- --verbose tells more; npm run local keeps a cluster up to try it yourself.\n'),
  );
  return ok ? 0 : 1;
}

function readArguments(): { scenario?: string[]; verbose?: boolean } {
  const { values } = parseArgs({
    options: { scenario: { type: 'string', multiple: true }, verbose: { type: 'boolean' } },
  });
  const unknown = values.scenario?.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no scenario ${unknown}`);
  return values;
}

try {
  process.exitCode = await main();
} catch (error) {
  // Told to end by a signal: what breaks then is no failure.
  if (!isLeaving()) {
    const hint = error instanceof TypeError ? `\n${USAGE}` : '';
    process.stderr.write(`\n${describeError(error)}${hint}\n`);
    process.exitCode = 1;
  }
}
