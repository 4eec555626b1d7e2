import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { InvalidArgumentError, newScript, Option, wholeNumber } from '../../hack/script.ts';
import { scenarioNames } from './scenario.ts';

/** Components that the cluster may lack. The suite then does their part itself or skips their checks. */
const STAND_INS = [
  // No virt-api: the suite fills in what its webhooks would add to a migration and a VMI.
  'kubevirt',
  // No Knative: no controller reports that a Broker, a Trigger, a source or a Service is ready.
  'knative',
  // No nodes: the guard does not run as a Deployment.
  'deployments',
] as const;
export type StandIn = (typeof STAND_INS)[number];

/** Timeouts, seconds. */
const seconds = z.object({
  /** Until the installation is ready. */
  E2E_INSTALLED_SECONDS: z.coerce.number().positive().default(120),
  /** Until a quota has a status, or a VM runs (the node may have to pull its image). */
  E2E_GIVEN_SECONDS: z.coerce.number().positive().default(300),
  /** Until everything in then.yaml holds. */
  E2E_THEN_SECONDS: z.coerce.number().positive().default(180),
  /** Until a scenario's namespace is gone. */
  E2E_GONE_SECONDS: z.coerce.number().positive().default(180),
});
export type Seconds = z.infer<typeof seconds>;

export interface Options {
  readonly kubeconfig: string;
  readonly standIns: ReadonlySet<StandIn>;
  /** Names of the scenarios to run; empty: all. */
  readonly scenarios: readonly string[];
  /** How many at a time. */
  readonly parallel: number;
  /** Where the report goes. */
  readonly junit: string;
  /** Keep all objects for inspection. */
  readonly keep: boolean;
  readonly seconds: Seconds;
}

const JUNIT = fileURLToPath(new URL('../../out/e2e/junit.xml', import.meta.url));

/** `npm run test:e2e` with its flags. */
export const E2E = newScript('test:e2e', 'Runs the scenarios against the cluster of KUBECONFIG.')
  .addOption(
    new Option('--stand-in <name...>', 'what is not real there').choices(STAND_INS).default([], 'nothing'),
  )
  .addOption(
    new Option('--scenario <name...>', 'only these folders of test/e2e/scenarios')
      .choices(scenarioNames())
      .default([], 'all'),
  )
  .option('--parallel <n>', 'how many at a time', wholeNumber(1, 99), 1)
  .addOption(
    new Option('--junit <file>', 'where the report goes')
      .argParser((file) => resolve(file))
      .default(JUNIT, 'out/e2e/junit.xml'),
  )
  .option('--keep', 'leave the namespaces')
  .addHelpText('after', `\nSeconds that may pass: ${Object.keys(seconds.shape).join(', ')}.`);

/** The flags of the command line. */
export interface Flags extends Pick<Options, 'parallel' | 'junit'> {
  readonly standIn: readonly StandIn[];
  readonly scenario: readonly string[];
  readonly keep?: boolean;
}

/** Returns the options of the flags and the environment. Throws InvalidArgumentError. */
export function readOptions(
  { standIn, scenario, keep = false, ...flags }: Flags,
  env: NodeJS.ProcessEnv,
): Options {
  const kubeconfig = env['KUBECONFIG'] ?? '';
  if (kubeconfig === '') throw new InvalidArgumentError('KUBECONFIG is not set: which cluster?');
  const timeouts = seconds.safeParse(env);
  if (!timeouts.success) throw new InvalidArgumentError(z.prettifyError(timeouts.error));
  return {
    ...flags,
    kubeconfig,
    standIns: new Set(standIn),
    scenarios: scenario,
    keep,
    seconds: timeouts.data,
  };
}
