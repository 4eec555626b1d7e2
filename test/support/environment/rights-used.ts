import { randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { API_SERVERS, FIELD_MANAGER, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import type { Audited } from './audit.ts';

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** Where test environments record our service accounts' requests; relative to the repository. */
export const USED_RIGHTS_FOLDER = 'out/rights-used';

/** A request of one of our processes. */
export interface UsedRight {
  readonly account: string;
  readonly verb: string;
  readonly apiGroup: string;
  /** With its subresource, such as resourcequotas/status; the URI of a request for no resource. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Stores the requests of the project's service accounts for the check at the end of the run (test/rights). */
export async function noteRightsUsed({ auditLog }: ControlPlane): Promise<void> {
  const used = new Set<string>();
  // Line by line: the log of a long run is larger than a string may be.
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (line.includes(OURS)) for (const right of rightsIn(JSON.parse(line) as Audited)) used.add(right);
  }
  mkdirSync(USED_RIGHTS_FOLDER, { recursive: true });
  writeFileSync(join(USED_RIGHTS_FOLDER, `${randomUUID()}.json`), `[${[...used].join()}]`);
}

/** As JSON. Only requests of the processes themselves: a test that borrows an account connects with another user agent. */
function rightsIn(request: Audited): string[] {
  const { user, userAgent, requestURI } = request;
  // Open to every user of a cluster (system:public-info-viewer).
  if (requestURI === '/version') return [];
  return user.username.startsWith(OURS) && userAgent === FIELD_MANAGER
    ? [JSON.stringify(rightOf(request))]
    : [];
}

function rightOf({ user, verb, requestURI, objectRef }: Audited): UsedRight {
  return {
    account: user.username.slice(OURS.length),
    verb,
    apiGroup: objectRef?.apiGroup ?? '',
    resource: objectRef === undefined ? requestURI : resourceOf(objectRef),
    ...(objectRef === undefined ? {} : scopeOf(objectRef)),
  };
}

type About = NonNullable<Audited['objectRef']>;

const resourceOf = ({ resource, subresource }: About): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`;

/** Namespaces with a Role for the project's accounts. */
const OF_ROLES: readonly (string | undefined)[] = [
  SYSTEM_NAMESPACE,
  API_SERVERS.slices.namespace,
  API_SERVERS.leases.namespace,
];

/** Outside the project's own namespace. */
const NAMED_BY_RULES = [
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'serviceaccounts',
  'leases',
];

/** Keeps only names that a rule or binding may contain; the names of tenants and their objects would make thousands of entries. */
function scopeOf({ resource, namespace, name }: About): Pick<UsedRight, 'namespace' | 'name'> {
  const isOwn = OF_ROLES.includes(namespace);
  const isNamed = name !== undefined && (isOwn || NAMED_BY_RULES.includes(resource));
  return { ...(isOwn && namespace !== undefined ? { namespace } : {}), ...(isNamed ? { name } : {}) };
}
