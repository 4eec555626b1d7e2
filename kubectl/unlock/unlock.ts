import { Command } from 'commander';
import { named } from '../../functions/cluster/listed.ts';
import { CLUSTER_PREFIX, LABEL } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { isConflict } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { requireRights, type Right } from '../cluster/rights.ts';
import { details, isConfirmed, yesFlag } from '../flags.ts';
import { EXIT, namesOf, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { changeOf, describeLock, tokenOf, unlockPatches } from './plan.ts';
import { recordRemoval } from './record.ts';

const HELP = [
  'Removes a lock that neither the functions nor the guard can end: the break-glass write of ' +
    'docs/operations.md, for the lock that it shows and no other. It asks first. A cluster-admin, or a ' +
    'user bound to ClusterRole managed-tenant-quota-break-glass, may do it.',
  'Exit codes: 0 unlocked; 1 declined, or another lock took its place; 2 no answer.',
];

const EXAMPLES = ['kubectl vmmrq unlock tenant-a', 'kubectl vmmrq unlock tenant-a --yes'];

/** The right that admission asks for (hack/manifests/admission/keys.ts). */
const LOCKS = { apiVersion: 'mtq.kubevirt.io/v1alpha1', plural: 'locks' };

export const unlockSubcommand: Subcommand = {
  declare: () =>
    new Command('unlock')
      .description('remove a stuck lock, after showing it')
      .argument('<namespace>', 'the locked namespace')
      .addOption(yesFlag())
      .addHelpText('after', details(HELP, EXAMPLES)),
  completers: {
    namespace: async ({ session: { cluster } }) =>
      namesOf((await cluster.list(named(NAMESPACES), { labelSelector: LABEL.locked })).items),
  },
  run,
};

const BREAK_GLASS = `${CLUSTER_PREFIX}break-glass`;

/** The name after kubectl's `ns/`. */
const nameIn = (argument: string): string => argument.slice(argument.lastIndexOf('/') + 1);

/** Rejects where the user lacks a right. The break-glass role has the last one alone, because it lets nobody write namespaces. */
async function requireRightsFor(name: string, cluster: ApiServer): Promise<void> {
  const own = (verb: 'get' | 'patch'): Right => ({ verb, type: NAMESPACES, namespace: name, name });
  await requireRights(cluster, [own('get'), own('patch')]);
  await requireRights(cluster, [{ verb: 'override', type: LOCKS, name }], BREAK_GLASS);
}

async function run({ session: { cluster }, terminal, args, flags }: Invocation): Promise<ExitCode> {
  const [name = ''] = args;
  if (name.includes('/'))
    throw new PluginError(`unlock takes the name of a namespace alone: ${nameIn(name)}`);
  await requireRightsFor(name, cluster);
  const read = await cluster.get(NAMESPACES, { name });
  const shown = describeLock(read.object, read.date.getTime());
  if (shown === undefined) {
    terminal.print(`namespace ${name} is not locked`);
    return EXIT.ok;
  }
  terminal.print(shown);
  if (!(await isConfirmed('Remove this lock?', { terminal, flags }))) {
    terminal.print('nothing was done');
    return EXIT.found;
  }
  const result = await remove(cluster, read.object);
  terminal.print(`namespace ${name}: ${SAID[result]}`);
  const problem =
    result === 'removed' ? await recordRemoval(cluster, read.object, tokenOf(read.object)) : undefined;
  if (problem !== undefined) terminal.warn(`no Event says that you did it: ${problem}`);
  return result === 'replaced' ? EXIT.found : EXIT.ok;
}

const SAID = {
  removed: 'unlocked',
  ended: 'the lock ended meanwhile',
  replaced: 'another lock took its place; nothing was done',
} as const;

/**
 * Removes the lock. Each write is on the version that was seen. After a conflict it goes on only while the lock that was shown is
 * there.
 */
async function remove(cluster: ApiServer, shown: Namespace): Promise<keyof typeof SAID> {
  const { name } = shown.metadata;
  for (let seen = shown; ;) {
    try {
      await patchInTurn(cluster, seen);
      return 'removed';
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    seen = (await cluster.get(NAMESPACES, { name })).object;
    const change = changeOf(shown, seen);
    if (change !== 'same') return change;
  }
}

async function patchInTurn(cluster: ApiServer, seen: Namespace): Promise<void> {
  const { name } = seen.metadata;
  let { resourceVersion } = seen.metadata;
  for (const patch of unlockPatches(seen)) {
    const merge = { metadata: { ...patch, resourceVersion } };
    ({ resourceVersion } = (await cluster.patch(NAMESPACES, { name }, { merge })).object.metadata);
  }
}
