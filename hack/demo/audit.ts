import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { Appended } from '../../test/cluster/appended.ts';

/** The object of a write; of a namespace the `namespace` is its own name. */
interface Replaced {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Of a PUT: the precondition, that is the version that was replaced. */
  readonly resourceVersion?: string;
}

/** audit.k8s.io/v1 Event, as far as it is looked at. */
interface Entry {
  readonly user: { readonly username: string };
  readonly requestURI: string;
  readonly objectRef?: Replaced;
  readonly responseStatus?: { readonly code?: number };
}

/** The API server's own record of who wrote what (AUDIT_POLICY in controlplane/flags.ts). */
export class AuditLog {
  readonly #log: Appended;
  /** User by the version that the write replaced: no two writes can have replaced the same. */
  readonly #writers = new Map<string, string>();

  constructor(file: string) {
    this.#log = new Appended(file);
  }

  /** Takes in what was written since the last time. */
  read(): void {
    for (const line of this.#log.read()) this.#parse(line);
  }

  /** Who replaced this version with the next, by a PUT; undefined: it is not on record. */
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

/** A user as the story calls it: one of our steps, the guard, or whom it is known as. */
export const actorOf = (user: string): string =>
  user.startsWith(OURS) ? user.slice(OURS.length) : (KNOWN[user] ?? user);
