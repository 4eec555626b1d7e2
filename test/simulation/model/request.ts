import type { AdmissionRequest, AdmissionResponse } from '../../../webhook/admission/admission.ts';

/**
 * Phases at which a request can be suspended:
 *   arrive  the server has not looked at it
 *   admit   a write is about to be admitted; the server selects the webhooks after this phase
 *   charge  one quota is about to be charged (once for each quota and each try); not for dry runs
 *   commit  admitted, and about to be stored; not for dry runs
 *   answer  it has taken effect, and the answer is on its way; for a watch: once for each event
 */
export type Phase = 'arrive' | 'admit' | 'charge' | 'commit' | 'answer';

export type Verb = 'get' | 'list' | 'create' | 'replace' | 'patch' | 'delete' | 'watch';

/** One request at one phase. */
export interface Point {
  /** The same object at all phases of one request. */
  readonly request: object;
  readonly server: string;
  readonly user: string;
  readonly verb: Verb;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: Subresource;
  readonly dryRun: boolean;
  readonly phase: Phase;
}

export type Subresource = 'status' | 'finalize' | 'resize';

/**
 * Resolves when the request may continue. The client gets a rejection (Unreachable or an ApiError): at 'arrive' and
 * 'admit' nothing took effect, at 'commit' only a quota was charged, at 'answer' all of it did. At 'charge' it is the
 * write of the quota's status that failed: the server tries again, and answers with the failure after the fourth.
 */
export type Pace = (point: Point) => Promise<void>;

/** Answers one review, for one of the guard's webhooks. A rejection is a webhook that cannot be reached. */
export type Webhook = (request: AdmissionRequest, webhook: string) => Promise<AdmissionResponse>;
