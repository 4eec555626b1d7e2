import { Argument, Command } from 'commander';
import { isHardQuantity, parseQuantity, type Amount } from '../../functions/domain/quantity.ts';
import { named } from '../../functions/cluster/listed.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { PLANS } from '../../functions/kubernetes/live-resources.ts';
import { NAMESPACES, NODES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { requireRights, VIEWER } from '../cluster/rights.ts';
import type { Session } from '../cluster/session.ts';
import { sightOf, unseenLines, withUnseen, type Sight } from '../cluster/sight.ts';
import { details, outputFlag, type Output } from '../flags.ts';
import {
  EXIT,
  namesOf,
  type Completer,
  type ExitCode,
  type Invocation,
  type Subcommand,
} from '../subcommand.ts';
import { reportObject, structured } from '../terminal/structured.ts';
import { planReport, planTable } from './plan-report.ts';
import { withTriedRaises } from './dry-run.ts';
import type { ClusterFacts } from './facts.ts';
import { preflight, type Report } from './preflight.ts';
import { readFacts, rightsFor, withUncharged } from './read.ts';
import { table, structure } from './render.ts';
import { printSuggestion } from './print-suggestion.ts';
import type { Task } from './task.ts';
import { withTriedPods } from './try-pods.ts';

interface Flags {
  /** kubectl's -n, which a task about a namespace does not need. */
  readonly namespace?: string;
  readonly all?: boolean;
  readonly suggest?: boolean;
  readonly overhead?: Amount;
  readonly output?: Output;
}

const KINDS = ['node', 'upgrade', 'namespace', 'plan'] as const satisfies readonly (Task['kind'] | 'plan')[];

const HELP = [
  'Exit codes: 0 every VM passes, or would with what --suggest prints; 1 a VM would get stuck; 2 no answer, or not ' +
    'for every VM.',
];

const EXAMPLES = [
  'kubectl vmmrq preflight node worker-1 worker-2',
  'kubectl vmmrq preflight upgrade --overhead 32Mi -o wide',
  'kubectl vmmrq preflight node worker-1 --suggest > drain.yaml',
  'kubectl vmmrq preflight plan move-to-east -n plans',
];

const declare = (): Command =>
  new Command('preflight')
    .summary(
      'says which VMs a drain or an upgrade would get stuck on by quotas, not by the capacity of nodes',
    )
    .description(
      'Says for each VM whether it would be migrated, by the same decisions as the functions; changes nothing.\n' +
        'passes: at once; passes in turn: when those before it have finished; stuck: a quota lacks this amount for its ' +
        'pods or for its migration itself, and no VMMRQ gives it, or something else refuses a pod or the raise, as dry ' +
        'runs show.\n' +
        'VMs are taken to go in the order shown. Whether another node has the capacity is not known.',
    )
    .usage('[flags] (node NODE... | upgrade | namespace [NAMESPACE] | plan PLAN)')
    .addArgument(
      new Argument(
        '<task>',
        'drain nodes, upgrade KubeVirt, migrate every VM of a namespace, or move the VMs of a plan to another cluster',
      ).choices(KINDS),
    )
    .argument('[names...]', 'the nodes, the namespace or the plan')
    .option('--all', 'upgrade: all VMs, although some are outdated already')
    .option(
      '--overhead <memory>',
      'upgrade: how much more memory a new launcher needs beside the guest',
      quantity,
    )
    .option('--suggest', 'print the VMMRQ that lets the stuck VMs pass, and create nothing')
    .addOption(outputFlag('json', 'yaml', 'wide'))
    .addHelpText('after', details(HELP, EXAMPLES));

function quantity(text: string): Amount {
  if (!isHardQuantity(text))
    throw new PluginError(`--overhead: '${text}' is no amount of memory, such as 64Mi`);
  return parseQuantity(text);
}

async function run(invocation: Invocation): Promise<ExitCode> {
  const { session, terminal, args, flags } = invocation;
  const own: Flags = flags;
  const { output, suggest, all, overhead } = own;
  if (args[0] !== 'upgrade' && (all !== undefined || overhead !== undefined))
    throw new PluginError('--all and --overhead are for an upgrade only');
  if (args[0] === 'plan') return runPlan(invocation);
  const task = taskOf(args, own, session.namespace);
  const only = task.kind === 'namespace' ? task.namespace : undefined;
  const sight = await sightOf(session.cluster, rightsFor(task), only);
  const { facts, report } = await look(task, sight, session);
  if (suggest === true)
    return exitCodeOf(await printSuggestion(report, facts, { session, terminal, output }));
  if (output === 'json' || output === 'yaml')
    terminal.print(
      structured(output, reportObject('Preflight', withUnseen(structure(report), sight.unseen))),
    );
  else terminal.print([...table(report, terminal.sheet(output)), ...unseenLines(sight.unseen)]);
  return exitCodeOf(report);
}

/** Reads what the task is about, then what its first outcomes need. */
async function look(
  task: Task,
  sight: Sight,
  session: Session,
): Promise<{ readonly facts: ClusterFacts; readonly report: Report }> {
  const counted = (read: ClusterFacts, found: Report): Promise<ClusterFacts> =>
    withUncharged(sight.reader, read, found);
  let facts = await readFacts(sight, task);
  let report = preflight(task, facts);
  for (const more of [counted, withTriedPods, withTriedRaises]) {
    const next = await more(facts, report, session);
    if (next !== facts) report = preflight(task, next);
    facts = next;
  }
  return { facts, report };
}

/** Reports on a plan by its conditions alone, which `live` writes. */
async function runPlan({
  session,
  terminal,
  args: [, name, ...others],
  flags,
}: Invocation): Promise<ExitCode> {
  const { output, suggest }: Flags = flags;
  if (name === undefined || others.length > 0)
    throw new PluginError('which plan? kubectl vmmrq preflight plan PLAN');
  if (suggest === true)
    throw new PluginError('--suggest: the conditions of a plan say themselves what to do');
  const { cluster, namespace } = session;
  await requireRights(cluster, [{ verb: 'get', type: PLANS, namespace }], VIEWER);
  const found = await ignoreNotFound(cluster.get(PLANS, { namespace, name }));
  if (found === undefined) throw new PluginError(`there is no plan ${name} in namespace ${namespace}`);
  const report = planReport(found.object);
  if (output === 'json' || output === 'yaml')
    terminal.print(structured(output, reportObject('PlanPreflight', report)));
  else terminal.print(planTable(report, terminal.sheet(output)));
  return { Ready: EXIT.ok, Held: EXIT.found, NotReady: EXIT.found, CannotTell: EXIT.unknown }[report.answer];
}

function taskOf([kind, ...names]: readonly string[], flags: Flags, namespace: string): Task {
  if (kind === 'node') {
    if (names.length === 0) throw new PluginError('which node? kubectl vmmrq preflight node NODE...');
    return { kind, nodes: [...new Set(names)] };
  }
  if (kind === 'namespace') {
    return { kind, namespace: oneNamespace(names, flags) ?? namespace };
  }
  if (names.length > 0) throw new PluginError(`an upgrade takes no names: ${names.join(' ')}`);
  const { overhead, all } = flags;
  return {
    kind: 'upgrade',
    ...(overhead === undefined ? {} : { overhead }),
    ...(all === undefined ? {} : { all }),
  };
}

/** The namespace that is named as an argument; undefined: none is. Throws a PluginError where -n names another one. */
function oneNamespace([own, ...others]: readonly string[], { namespace: asked }: Flags): string | undefined {
  if (others.length > 0) throw new PluginError('one namespace only');
  if (own !== undefined && asked !== undefined && asked !== own)
    throw new PluginError(`which namespace: ${own}, or ${asked} of -n?`);
  return own;
}

/** A VM that gets stuck is an answer, even if others are unknown. */
export function exitCodeOf({ vms }: Report): ExitCode {
  if (vms.some(({ outcome }) => outcome === 'Stuck' || outcome === 'NotMigratable')) return EXIT.found;
  return vms.some(({ outcome }) => outcome === 'CannotTell') ? EXIT.unknown : EXIT.ok;
}

const completeNames: Completer = async ({ session: { cluster, namespace }, args: [kind] }) => {
  if (kind === 'upgrade') return [];
  if (kind === 'plan') return namesOf((await cluster.list(named(PLANS), { namespace })).items);
  const { items } = await cluster.list(named(kind === 'node' ? NODES : NAMESPACES), {});
  return namesOf(items);
};

/** `kubectl vmmrq preflight node NODE… | upgrade | namespace NS | plan PLAN`. */
export const preflightSubcommand: Subcommand = {
  declare,
  completers: { task: () => Promise.resolve(KINDS), names: completeNames },
  run,
};
