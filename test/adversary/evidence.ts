import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { proofIn } from '../../functions/domain/proof.ts';
import {
  PROOF_QUOTA,
  PROOF_MESSAGE,
  SERVICE_ACCOUNT,
  userOf,
  WEBHOOK,
} from '../../functions/domain/names.ts';
import type { ApiServer } from '../cluster/controlplane/start.ts';
import { isDryRun, type Audited } from '../support/environment/audit.ts';

/** The fields of an audit.k8s.io/v1 Event that count as evidence. */
export interface Entry extends Omit<Audited, 'objectRef' | 'responseStatus'> {
  /** RFC 3339 with microseconds, always UTC, so that text order is time order. */
  readonly requestReceivedTimestamp: string;
  readonly objectRef: NonNullable<Audited['objectRef']> & { readonly resourceVersion?: string };
  readonly responseStatus: {
    readonly code: number;
    readonly details?: { readonly causes?: readonly { reason?: string; message?: string }[] };
  };
}

/** Answered requests about pods and quotas by namespace, oldest first. */
export type Evidence = ReadonlyMap<string, readonly Entry[]>;

const RESOURCES = ['pods', 'resourcequotas'];

/** Reads the audit logs of all API servers. The caller's marker must be in each, which shows that the log is complete. */
export async function readEvidence(
  servers: readonly ApiServer[],
  isWanted: (namespace: string) => boolean,
): Promise<Evidence> {
  const evidence = new Map<string, Entry[]>();
  for (const { auditLog } of servers) {
    for await (const line of createInterface({ input: createReadStream(auditLog) })) {
      const entry = parse(line);
      const namespace = entry?.objectRef.namespace ?? '';
      if (entry === undefined || !isWanted(namespace)) continue;
      const entries = evidence.get(namespace) ?? [];
      entries.push(entry);
      evidence.set(namespace, entries);
    }
  }
  for (const entries of evidence.values()) {
    entries.sort((one, other) => (one.stageTimestamp < other.stageTimestamp ? -1 : 1));
  }
  return evidence;
}

/** An answered write of one of these resources; undefined for any other line. */
function parse(line: string): Entry | undefined {
  // Skip reads before parsing: parsing takes most of the time, and most lines are reads.
  if (!line.includes('"ResponseComplete"') || /"verb":"(?:get|list|watch)"/.test(line)) return undefined;
  const entry = JSON.parse(line) as Partial<Entry>;
  const isAbout = RESOURCES.includes(entry.objectRef?.resource ?? '');
  return isAbout && entry.responseStatus !== undefined ? (entry as Entry) : undefined;
}

/** The token that the webhook's or policy's refusal of this request proves; undefined when it is no proof. */
export function provenBy({ verb, user, objectRef, responseStatus, ...entry }: Entry): string | undefined {
  const isAsked =
    verb === 'create' &&
    user.username === userOf(SERVICE_ACCOUNT.raise) &&
    objectRef.name === PROOF_QUOTA &&
    isDryRun({ verb, user, ...entry });
  if (!isAsked || responseStatus.code !== 403) return undefined;
  const tokens = (responseStatus.details?.causes ?? []).map(({ reason, message }) =>
    reason === WEBHOOK.locked ? proofIn(message ?? '')?.token : message?.split(PROOF_MESSAGE)[1],
  );
  return tokens.find((token) => token !== undefined);
}
