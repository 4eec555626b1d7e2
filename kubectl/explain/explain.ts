import { Command } from 'commander';
import {
  LISTED_CLAIMS,
  LISTED_MIGRATIONS_TO_COME,
  LISTED_VMIS,
  LISTED_WHOLE_LIMIT_RANGES,
} from '../../functions/cluster/listed.ts';
import { LISTED_OWN_EVENTS, OWN_EVENTS } from '../../functions/cluster/listed-events.ts';
import { readNodeState } from '../../functions/cluster/snapshot.ts';
import { shown } from '../../functions/domain/foreign-text.ts';
import { isUnexplained } from '../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { KubernetesEvent, Migration } from '../../functions/domain/objects.ts';
import { keepsState } from '../../functions/domain/sizing/claims.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import type { Reader } from '../../functions/kubernetes/cluster.ts';
import { ignoreNotFound, isNotFound } from '../../functions/kubernetes/errors.ts';
import { MIGRATIONS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { readNamespace, snapshotRights } from '../cluster/namespace.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { sightOf, unseenLines, withUnseen } from '../cluster/sight.ts';
import { readState, STATE_RIGHTS } from '../cluster/state.ts';
import { details, outputFlag, type Output } from '../flags.ts';
import { EXIT, namesOf, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { reportObject, structured } from '../terminal/structured.ts';
import { explain } from './explanation.ts';
import { plainExplanation, renderExplanation } from './render.ts';

const HELP = [
  'Reads the namespace as the functions do, and gives their verdict: what each quota has, what the ' +
    "migration's target pod needs, what is missing, and which VMMRQs give it; with -o wide exactly.",
  'Exit codes: 0 no quota is in its way, or it gets through by a raise; 1 it waits; 2 no answer.',
];

const EXAMPLES = [
  'kubectl vmmrq explain kubevirt-evacuation-x7v2p -n tenant-a',
  'kubectl vmmrq explain kubevirt-evacuation-x7v2p -n tenant-a -o yaml',
];

export const explainSubcommand: Subcommand = {
  declare: () =>
    new Command('explain')
      .description('say why a migration waits for a quota, and what would free it')
      .argument('<migration>', 'name of a VirtualMachineInstanceMigration, or vmim/NAME')
      .addOption(outputFlag('json', 'yaml', 'wide'))
      .addHelpText('after', details(HELP, EXAMPLES)),
  completers: {
    migration: async ({ session: { cluster, namespace } }) =>
      namesOf((await cluster.list(LISTED_MIGRATIONS_TO_COME, { namespace })).items),
  },
  run,
};

/** kubectl also takes `vmim/NAME`, and the kind's other names. Throws a PluginError for another kind. */
function nameOf(argument: string): string {
  const [kind = '', name, ...more] = argument.split('/');
  if (name === undefined) return argument;
  if (more.length === 0 && name !== '' && KINDS.test(kind)) return name;
  throw new PluginError(`explain takes a migration, not ${argument}: vmim/NAME`);
}

const KINDS = /^(vmims?|virtualmachineinstancemigrations?)(\.kubevirt\.io)?$/i;

async function run({ session, terminal, args, flags }: Invocation): Promise<ExitCode> {
  const { cluster, namespace } = session;
  const name = nameOf(args[0] ?? '');
  const { reader, unseen } = await sightOf(
    cluster,
    [{ verb: 'get', type: MIGRATIONS, namespace }, ...STATE_RIGHTS, ...snapshotRights(namespace)],
    namespace,
  );
  const [migration, state] = await Promise.all([readMigration(reader, namespace, name), readState(reader)]);
  const [snapshot, said] = await Promise.all([
    readNamespace(reader, state, namespace),
    readSaid(reader, migration),
  ]);
  if (snapshot === undefined) throw new PluginError(`namespace ${namespace} is gone`);
  const nodes = await readEvacuated(reader, migration, snapshot);
  const whole = { ...snapshot, ...(await readClaims(reader, migration, snapshot)), nodes };
  const explanation = explain(migration, whole, state.rules);
  const { output } = flags as { readonly output?: Output };
  terminal.print(
    output === undefined || output === 'wide'
      ? [
          ...renderExplanation(explanation, terminal.sheet(output)),
          ...(said === undefined || said.startsWith(explanation.message) ? [] : ['', `Last Event: ${said}`]),
          ...unseenLines(unseen),
        ]
      : structured(
          output,
          reportObject('Explanation', withUnseen({ ...plainExplanation(explanation), said }, unseen)),
        ),
  );
  return THROUGH.includes(explanation.verdict) ? EXIT.ok : EXIT.found;
}

/** Reads the migration. Throws a PluginError if its namespace does not exist. */
async function readMigration(cluster: Reader, namespace: string, name: string): Promise<Migration> {
  try {
    return (await cluster.get(MIGRATIONS, { namespace, name })).object;
  } catch (error) {
    if (
      isNotFound(error) &&
      (await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace }))) === undefined
    )
      throw new PluginError(`there is no namespace ${namespace}`);
    throw error;
  }
}

/** What the functions, which see everything, said of the migration last: the message of their newest Event. */
async function readSaid(cluster: Reader, { metadata }: Migration): Promise<string | undefined> {
  const { namespace = '', uid } = metadata;
  const fieldSelector = `${OWN_EVENTS.fieldSelector},involvedObject.uid=${uid}`;
  const { items } = await cluster.list(LISTED_OWN_EVENTS, { namespace, fieldSelector });
  const timeOf = ({ lastTimestamp }: KubernetesEvent): number => Date.parse(lastTimestamp ?? '') || 0;
  const [newest] = items.toSorted((one, other) => timeOf(other) - timeOf(one));
  return newest?.message === undefined ? undefined : shown(newest.message);
}

/** The known nodes, and the one that the migration evacuates. */
async function readEvacuated(
  cluster: Reader,
  { metadata }: Migration,
  { nodes, view }: NamespaceSnapshot,
): Promise<NamespaceSnapshot['nodes']> {
  const name = metadata.annotations?.[KUBEVIRT.evacuation];
  if (name === undefined || nodes.has(name)) return nodes;
  return new Map([...nodes, await readNodeState(cluster, name, view?.kubevirt.drainTaint)]);
}

/** What shows whether a LimitRange refuses the volume claim for the VM's state: only where KubeVirt does not show why it waits. */
async function readClaims(
  cluster: Reader,
  migration: Migration,
  { vmis }: NamespaceSnapshot,
): Promise<Partial<NamespaceSnapshot>> {
  const { namespace = '' } = migration.metadata;
  const { vmiName = '' } = migration.spec;
  if (!isUnexplained(migration) || vmis.has(vmiName)) return {};
  const { items } = await cluster.list(LISTED_VMIS, { namespace });
  const vmi = items.find(({ metadata }) => metadata.name === vmiName);
  if (vmi === undefined || !keepsState(vmi)) return {};
  const [claims, limitRanges] = await Promise.all([
    cluster.list(LISTED_CLAIMS, { namespace }),
    cluster.list(LISTED_WHOLE_LIMIT_RANGES, { namespace }),
  ]);
  return { vmis: new Map([...vmis, [vmiName, vmi]]), claims: claims.items, limitRanges: limitRanges.items };
}

const THROUGH: readonly string[] = ['NotBlocked', 'Fits', 'FitsWithRaise'];
