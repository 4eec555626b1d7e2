import { Document, isScalar, Scalar, stringify, visit } from 'yaml';
import { locked } from './locked.ts';
import { lockKeys } from './lock-keys.ts';
import { policyObjects, type Policy } from './manifest.ts';
import { ownWrites } from './own-writes.ts';
import { purposes } from './purposes.ts';
import { raisedPods } from './raised-pods.ts';
import { raisedQuotas } from './raised-quotas.ts';
import { reservedNamespaces } from './reserved-namespaces.ts';
import { verdicts } from './verdicts.ts';
import { liveWebhooks } from './live.ts';
import { movedVms } from './moved-vms.ts';
import { webhooks } from './webhooks.ts';

/** Longer texts fold at this column. */
const WIDTH = 120;
const FOLDED_FROM = 80;

interface File {
  /** The path in the repository. */
  readonly path: string;
  /** The file in hack/manifests/admission. */
  readonly source: string;
  readonly says: string;
  readonly objects: readonly object[];
}

const policy = (source: string, described: Policy, says: string): File => ({
  path: `config/policies/${source}.yaml`,
  source: `${source}.ts`,
  says,
  objects: policyObjects(described),
});

/** Every admission manifest, with a description of one sentence. */
const FILES: readonly File[] = [
  policy('raised-pods', raisedPods, 'While a quota is raised: only the pods of its own migrations.'),
  policy('raised-quotas', raisedQuotas, 'Only managed-tenant-quota writes what it keeps on a quota.'),
  policy(
    'lock-keys',
    lockKeys,
    'Only managed-tenant-quota writes what it keeps on a namespace; or break-glass.',
  ),
  policy('locked', locked, "While a namespace is locked: only its migrations' pods, and no new quota."),
  policy(
    'own-writes',
    ownWrites,
    "managed-tenant-quota's own accounts write nothing but what the steps write.",
  ),
  policy('purposes', purposes, 'Only KubeVirt marks a migration as an evacuation or an update.'),
  policy('verdicts', verdicts, 'Only managed-tenant-quota writes verdicts on Events.'),
  policy('reserved-namespaces', reservedNamespaces, "No VMMRQ in the cluster's own namespaces."),
  {
    path: 'config/webhook/validatingwebhookconfiguration.yaml',
    source: 'webhooks.ts',
    says: 'The guard: what lock-keys and locked say, decided by live reads.',
    objects: [webhooks],
  },
  {
    path: 'config/components/live-migration/mutatingwebhookconfiguration.yaml',
    source: 'live.ts',
    says: 'Who creates a Migration may do what it does; who writes an object is written on it; providers have URLs of other clusters.',
    objects: [liveWebhooks],
  },
  {
    path: 'config/components/live-migration/member/moved-vms.yaml',
    source: 'moved-vms.ts',
    says: 'No request starts a VM that has moved, unless its annotation is removed first.',
    objects: policyObjects(movedVms),
  },
];

/** The text of every admission manifest, by path. */
export const renderAdmission = (): ReadonlyMap<string, string> =>
  new Map(FILES.map((file) => [file.path, textOf(file)]));

function textOf({ source, says, objects }: File): string {
  const header = `# ${says}\n# Generated: edit hack/manifests/admission/${source}, then npm run manifests:admission.\n`;
  return header + objects.map(yamlOf).join('---\n');
}

/** YAML in prettier's format. */
function yamlOf(object: object): string {
  const document = new Document(object, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && node.value.length > FOLDED_FROM) node.type = Scalar.BLOCK_FOLDED;
    },
    Seq: (_, node) => {
      if (node.items.every((item) => isScalar(item))) node.flow = true;
    },
  });
  return stringify(document, { lineWidth: WIDTH, singleQuote: true, flowCollectionPadding: false });
}
