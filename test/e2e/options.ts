import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';

/** Components that the cluster may lack. The suite then does their part itself or skips their checks. */
const STAND_INS = {
  /** No virt-api: the suite fills in what its webhooks would add to a migration and a VMI. */
  kubevirt: 'KubeVirt',
  /** No Knative: no controller reports that a Broker, a Trigger, a source or a Service is ready. */
  knative: 'Knative',
  /** No nodes: the guard does not run as a Deployment. */
  deployments: 'Deployments',
} as const;
export type StandIn = keyof typeof STAND_INS;

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

/** Thrown for unusable options; the message says what is wrong. */
export class Usage extends Error {
  override readonly name = 'Usage';
}

const JUNIT = fileURLToPath(new URL('../../out/e2e/junit.xml', import.meta.url));

export const USAGE = `KUBECONFIG=… npm run test:e2e -- [--stand-in NAME]… [--scenario NAME]… [--parallel N] [--junit FILE] [--keep]
  --stand-in  ${Object.keys(STAND_INS).join(' | ')}: what is not real there; nothing when left out
  --scenario  a folder of test/e2e/scenarios; all when left out
  --parallel  how many at a time; 1 when left out
  --junit     out/e2e/junit.xml when left out
  --keep      leave the namespaces
  ${Object.keys(seconds.shape).join(', ')}: how long may pass`;

/** Reads the options from the command line and the environment. Throws Usage. */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): Options {
  const values = parse(args);
  const kubeconfig = env['KUBECONFIG'] ?? '';
  if (kubeconfig === '') throw new Usage('KUBECONFIG is not set: which cluster?');
  const timeouts = seconds.safeParse(env);
  if (!timeouts.success) throw new Usage(z.prettifyError(timeouts.error));
  return {
    kubeconfig,
    standIns: new Set(values['stand-in'].map(standIn)),
    scenarios: values.scenario,
    parallel: atATime(values.parallel),
    junit: values.junit === '' ? JUNIT : resolve(values.junit),
    keep: values.keep,
    seconds: timeouts.data,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'stand-in': { type: 'string', multiple: true, default: [] },
        scenario: { type: 'string', multiple: true, default: [] },
        parallel: { type: 'string', default: '1' },
        junit: { type: 'string', default: '' },
        keep: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : 'these arguments cannot be read');
  }
}

function standIn(name: string): StandIn {
  if (name in STAND_INS) return name as StandIn;
  throw new Usage(`there is no stand-in '${name}'`);
}

function atATime(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new Usage(`--parallel is a number from 1 to 99, not '${text}'`);
}
