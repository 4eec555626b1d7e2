import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { Appended } from '../../test/cluster/appended.ts';

/** The object of a write. For a Namespace, `namespace` is its own name. */
interface Replaced {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The precondition of a PUT: the replaced version. */
  readonly resourceVersion?: string;
}

/** The fields of an audit.k8s.io/v1 Event that the demo reads. */
interface Entry {
  readonly user: { readonly username: string };
  readonly requestURI: string;
  readonly objectRef?: Replaced;
  readonly responseStatus?: { readonly code?: number };
}

/** The API server's record of writers (AUDIT_POLICY in controlplane/flags.ts). */
export class AuditLog {
  readonly #log: Appended;
  /** Users by the version that they replaced: no two writes can replace the same version. */
  readonly #writers = new Map<string, string>();

  constructor(file: string) {
    this.#log = new Appended(file);
  }

  /** Reads the lines since the last call. */
  read(): void {
    for (const line of this.#log.read()) this.#parse(line);
  }

  /** The user of the PUT that replaced this version; undefined: the log has no such write. */
  writerOf(replaced: Replaced): string | undefined {
    return this.#writers.get(keyOf(replaced));
  }

  #parse(line: string): void {
    if (!line.includes('"verb":"update"')) return;
    const { user, requestURI, objectRef, responseStatus } = JSON.parse(line) as Entry;
    const failed = (responseStatus?.code ?? 500) >= 300;
    if (objectRef === undefined || failed || requestURI.includes('dryRun=')) return;
    this.#writers.set(keyOf(objectRef), user.username);
  }
}

const keyOf = ({ resource, namespace, name, resourceVersion }: Replaced): string =>
  [resource, namespace, name, resourceVersion].join('/');

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:mtq-`;
const KNOWN: Readonly<Record<string, string>> = {
  'system:serviceaccount:kube-system:resourcequota-controller': 'quota controller',
  'system:serviceaccount:kubevirt:kubevirt-controller': 'KubeVirt',
  admin: 'tenant',
};

/** The user's name in the timeline: one of our steps, the guard, or a known component. */
export const actorOf = (user: string): string =>
  user.startsWith(OURS) ? user.slice(OURS.length) : (KNOWN[user] ?? user);
