import { Command } from 'commander';
import { named } from '../../functions/cluster/listed.ts';
import { PLANS } from '../../functions/kubernetes/live-resources.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { details } from '../flags.ts';
import { namesOf, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { followMaintenance } from './maintenance.ts';
import { followPlan } from './plan.ts';

const HELP = [
  'Follows MaintenanceProgress objects (mprog) until they end; without a name all that are under way. ' +
    'With a name it waits up to 60 s for a drain or upgrade to begin, and shows the last one at once. If ' +
    'none begins, the last one is the answer where it ended within the last ten minutes. With plan: the ' +
    'Migration of a plan that runs, or that comes next, else the last one.',
  'Exit codes: 0 completed; 1 failed, canceled or superseded; 2 no answer, such as none that has begun.',
];

const EXAMPLES = [
  'kubectl vmmrq progress',
  'kubectl vmmrq progress node1',
  'kubectl drain node1 --ignore-daemonsets --delete-emptydir-data & kubectl vmmrq progress node1',
  'kubectl vmmrq progress plan move-to-east -n plans',
];

const PLAN = 'plan';

export const progressSubcommand: Subcommand = {
  declare: () =>
    new Command('progress')
      .description('follow a drain, an upgrade or a move to another cluster until it ends')
      .usage('[flags] ([NAME] | plan PLAN)')
      .argument('[name]', 'a MaintenanceProgress, or the node that is drained')
      .argument('[plan]', 'after "plan": the plan whose VMs move')
      .addHelpText('after', details(HELP, EXAMPLES)),
  completers: {
    name: async ({ session: { cluster } }) => {
      const { items } = await cluster.list(PROGRESSES, {});
      return [...namesOf(items), ...new Set(items.map(({ spec }) => spec.subject)), PLAN];
    },
    plan: async ({ session: { cluster, namespace }, args: [kind] }) =>
      kind === PLAN ? namesOf((await cluster.list(named(PLANS), { namespace })).items) : [],
  },
  run,
};

async function run({ args: [name, plan], ...invocation }: Invocation): Promise<ExitCode> {
  if (name !== PLAN) {
    if (plan !== undefined) throw new PluginError(`one name only, or: kubectl vmmrq progress plan ${plan}`);
    return followMaintenance(name, invocation);
  }
  if (plan === undefined) throw new PluginError('which plan? kubectl vmmrq progress plan PLAN');
  return followPlan(plan, invocation);
}
