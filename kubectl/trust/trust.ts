import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { named } from '../../functions/cluster/listed.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { CONFIG_MAPS } from '../../functions/kubernetes/live-resources.ts';
import { KUBEVIRTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { requireRights, type Right } from '../cluster/rights.ts';
import { connect, contextsOf } from '../cluster/session.ts';
import { details, isConfirmed, yesFlag } from '../flags.ts';
import { EXIT, type ExitCode, type Invocation, type Subcommand } from '../subcommand.ts';
import { untrusted, type Certificate } from './certificates.ts';

const HELP = [
  "Live migration between clusters needs KubeVirts that trust each other's certificates. This writes " +
    'what the other one trusts (its own certificates, and those of clusters that it trusts already) into ' +
    "each one's ConfigMap kubevirt-external-ca, from where virt-operator takes them. It shows each " +
    'certificate, and asks first. Run it again when a cluster has renewed its own. Needs your rights on ' +
    'both: list KubeVirts, get namespace kube-system, get ConfigMap kubevirt-ca, get and patch that ' +
    'ConfigMap.',
  'Exit codes: 0 they trust each other; 1 declined, or not within a minute; 2 no answer.',
];

const EXAMPLES = ['kubectl vmmrq trust east', 'kubectl vmmrq trust --context west east --yes'];

/** ConfigMaps of KubeVirt's namespace: the certificates that it trusts, and the place to add others. */
const TRUSTED = 'kubevirt-ca';
const EXTERNAL = 'kubevirt-external-ca';
const BUNDLE = 'ca-bundle';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}
const BUNDLES = CONFIG_MAPS as ResourceType<ConfigMap>;

const WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

export const trustSubcommand: Subcommand = {
  declare: () =>
    new Command('trust')
      .description('make the KubeVirts of two clusters trust each other')
      .argument('<other-context>', 'the context of the other cluster in the kubeconfig')
      .addOption(yesFlag())
      .addHelpText('after', details(HELP, EXAMPLES)),
  run,
};

/** A cluster with its KubeVirt. */
interface Side {
  /** The name for people. */
  readonly name: string;
  readonly cluster: ApiServer;
  readonly id: string;
  /** The namespace of its KubeVirt. */
  readonly namespace: string;
  /** PEM of the certificates that its KubeVirt trusts, its own included. */
  readonly trusted: string;
  /** The time of its API server, milliseconds. */
  readonly now: number;
}

async function run({ session, terminal, args: [context = ''], flags }: Invocation): Promise<ExitCode> {
  const other = otherCluster(context, flags['kubeconfig']);
  const here = await readSide('this cluster', session.cluster);
  const there = await readSide(context, other);
  if (here.id === there.id)
    throw new PluginError(`${context} is this cluster: within one cluster nothing is needed`);
  const changes = [changeOf(here, there), changeOf(there, here)].filter(({ missing }) => missing.length > 0);
  for (const { side, from, missing } of changes) {
    terminal.print(`${side.name} does not trust ${from.name}: ${missing.map(describe).join('; ')}`);
  }
  if (changes.length > 0 && !(await isConfirmed('Add these certificates?', { terminal, flags }))) {
    terminal.print('nothing was done');
    return EXIT.found;
  }
  const late = await changed(changes);
  for (const name of late)
    terminal.print(`${name} has not taken it within a minute: see virt-operator's log`);
  if (late.length > 0) return EXIT.found;
  terminal.print(`this cluster and ${context} trust each other`);
  return EXIT.ok;
}

function otherCluster(context: string, kubeconfig: unknown): ApiServer {
  const ofFile = typeof kubeconfig === 'string' ? { kubeconfig } : {};
  if (!contextsOf(ofFile).includes(context))
    throw new PluginError(`the kubeconfig has no context ${context}`);
  return connect({ ...ofFile, context }).cluster;
}

/** The names of the clusters that do not trust the other one in time. */
async function changed(changes: readonly Change[]): Promise<string[]> {
  for (const change of changes) await add(change);
  const trusting = await Promise.all(changes.map(untilTrusted));
  return changes.filter((_, index) => trusting[index] !== true).map(({ side }) => side.name);
}

const rightsIn = (namespace: string): readonly Right[] => [
  { verb: 'get', type: CONFIG_MAPS, namespace, name: TRUSTED },
  { verb: 'get', type: CONFIG_MAPS, namespace, name: EXTERNAL },
  { verb: 'patch', type: CONFIG_MAPS, namespace, name: EXTERNAL },
];

const RIGHTS: readonly Right[] = [
  { verb: 'list', type: KUBEVIRTS },
  { verb: 'get', type: NAMESPACES, name: 'kube-system' },
];

async function readSide(name: string, cluster: ApiServer): Promise<Side> {
  await requireRights(cluster, RIGHTS);
  const kubevirts = await ignoreNotFound(cluster.list(named(KUBEVIRTS), {}));
  const namespace = kubevirts?.items[0]?.metadata.namespace;
  if (namespace === undefined) throw new PluginError(`${name}: KubeVirt is not installed`);
  await requireRights(cluster, rightsIn(namespace));
  const { object, date } = await cluster.get(NAMESPACES, { name: 'kube-system' });
  const bundle = await ignoreNotFound(cluster.get(BUNDLES, { namespace, name: TRUSTED }));
  const trusted = bundle?.object.data?.[BUNDLE];
  if (trusted === undefined)
    throw new PluginError(`${name}: KubeVirt has no ConfigMap ${namespace}/${TRUSTED}`);
  return { name, cluster, id: object.metadata.uid, namespace, trusted, now: date.getTime() };
}

/** The certificates that one side does not know of the other. */
interface Change {
  readonly side: Side;
  readonly from: Side;
  readonly missing: readonly Certificate[];
}

const changeOf = (side: Side, from: Side): Change => ({
  side,
  from,
  missing: untrusted(side.trusted, from.trusted, side.now),
});

const describe = ({ fingerprint, until }: Certificate): string =>
  `certificate ${fingerprint.slice(0, 23)}…, valid until ${new Date(until).toISOString()}`;

/** Adds the certificates beside those that other writers have added and virt-operator has not taken yet. */
async function add({ side: { name, cluster, namespace }, missing }: Change): Promise<void> {
  const at = { namespace, name: EXTERNAL };
  const found = await ignoreNotFound(cluster.get(BUNDLES, at));
  if (found === undefined)
    throw new PluginError(
      `${name}: KubeVirt has no ConfigMap ${namespace}/${EXTERNAL}: is its feature gate DecentralizedLiveMigration on?`,
    );
  const { data, metadata } = found.object;
  // A certificate that begins in the line of another's end is none.
  const text = [data?.[BUNDLE] ?? '', ...missing.map(({ pem }) => pem)].join('\n');
  await cluster.patch(BUNDLES, at, {
    merge: { metadata: { resourceVersion: metadata.resourceVersion }, data: { [BUNDLE]: text } },
  });
}

/** Waits until the trusted ConfigMap has the certificates: virt-operator empties the external one when it has merged it. */
async function untilTrusted({ side: { cluster, namespace, now }, missing }: Change): Promise<boolean> {
  const wanted = missing.map(({ pem }) => pem).join('');
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    const { object } = await cluster.get(BUNDLES, { namespace, name: TRUSTED });
    if (untrusted(object.data?.[BUNDLE] ?? '', wanted, now).length === 0) return true;
    if (performance.now() > until) return false;
    await delay(LOOK_EVERY_MS);
  }
}
