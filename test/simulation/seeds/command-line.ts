import { newScript, oneOf, wholeNumber } from '../../../hack/script.ts';

/** The flags of both simulations. */
export interface SimulationFlags {
  readonly runs: number;
  readonly seed: number;
  readonly mutation?: string;
  readonly trace?: boolean;
  readonly findSeeds?: boolean;
}

/** Declares `npm run <name>` with them. */
export const newSimulation = (
  name: string,
  description: string,
  mutations: readonly { readonly name: string }[],
): ReturnType<typeof newScript> =>
  newScript(name, description)
    .option('--runs <n>', 'so many seeds', wholeNumber(1), 1_000)
    .option('--seed <n>', 'the first of them', wholeNumber(0), 1)
    .option(
      '--mutation <name>',
      'with a deliberate defect',
      oneOf(mutations.map((mutation) => mutation.name)),
    )
    .option('--trace', 'only the first, line by line')
    .option('--find-seeds', 'instead: store another seed for each mutation that survives');
