import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIELD_MANAGER, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { ControlPlane } from '../../../local/controlplane/start.ts';
import { RIGHTS_FOLDER, type UsedRight } from '../../whole-run/rights.ts';
import type { Audited } from './audit.ts';

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** Leaves what our service accounts asked this API server for where the end of the run looks (test/whole-run). */
export function noteRightsUsed({ auditLog }: ControlPlane): void {
  const folder = process.env[RIGHTS_FOLDER];
  if (folder === undefined) return;
  const used = rightsUsedIn(readFileSync(auditLog, 'utf8'));
  writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(used));
}

/** Each once. Only what the processes themselves did, not a test that borrows one of the accounts. */
function rightsUsedIn(log: string): UsedRight[] {
  const lines = log.split('\n').filter((line) => line.includes(OURS));
  const requests = lines.map((line) => JSON.parse(line) as Audited);
  const used = requests
    .filter(({ user, userAgent }) => user.username.startsWith(OURS) && userAgent === FIELD_MANAGER)
    .map((request) => JSON.stringify(rightOf(request)));
  return [...new Set(used)].map((text) => JSON.parse(text) as UsedRight);
}

function rightOf({ user, verb, requestURI, objectRef, annotations }: Audited): UsedRight {
  return {
    account: user.username.slice(OURS.length),
    verb,
    apiGroup: objectRef?.apiGroup ?? '',
    resource: objectRef === undefined ? requestURI : resourceOf(objectRef),
    ...(objectRef === undefined ? {} : placeOf(objectRef)),
    allowed: annotations?.['authorization.k8s.io/decision'] === 'allow',
  };
}

type About = NonNullable<Audited['objectRef']>;

const resourceOf = ({ resource, subresource }: About): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`;

/** Only what a rule or a binding may be about; tenants and their objects would make thousands of it. */
function placeOf({ resource, namespace, name }: About): Pick<UsedRight, 'namespace' | 'name'> {
  const isOwn = namespace === SYSTEM_NAMESPACE;
  const isNamed = name !== undefined && (isOwn || resource === 'validatingwebhookconfigurations');
  return { ...(isOwn ? { namespace } : {}), ...(isNamed ? { name } : {}) };
}
