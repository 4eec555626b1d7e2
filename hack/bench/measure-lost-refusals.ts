import { KIND, SOURCE_EVENT } from '../../functions/domain/names.ts';
import { blockedToLocked, runCycle } from './cycle.ts';
import { blockedTenant, setUpTenants, type Environment } from './environment.ts';
import type { Measurements, MeasureOptions } from './figures.ts';

const NAMESPACE = 'bench-lost';
/** Each takes four seconds. */
const MAX_ROUNDS = 5;

/** Loses what the source says of a migration after it was created, as where its adapter restarts: only the guard has seen the refusal. */
export async function measureLostRefusals(
  environment: Environment,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  await setUpTenants(environment, [blockedTenant(NAMESPACE)]);
  const { broker } = environment.cluster.eventing;
  const samples: number[] = [];
  const rounds = Math.min(cycles, MAX_ROUNDS);
  broker.lose(({ event: { attributes }, trigger }) => {
    const { type, kind, namespace } = attributes;
    const isUpdate = type === SOURCE_EVENT.update && kind === KIND.migration.kind;
    return trigger === 'mtq-feasibility' && isUpdate && namespace === NAMESPACE;
  });
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`lost refusal ${round} of ${rounds}`);
    samples.push(blockedToLocked(await runCycle(environment, NAMESPACE)));
  }
  broker.lose(undefined);
  const group = 'the event of a refusal is lost';
  return { figures: [{ group, name: 'blocked → locked', unit: 'ms', samples, target: 5_000 }] };
}
