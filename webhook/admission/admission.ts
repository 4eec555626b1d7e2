import { shown } from '../../functions/domain/foreign-text.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import * as z from '../../functions/runtime/zod.ts';

const API_VERSION = 'admission.k8s.io/v1';
const KIND = 'AdmissionReview';

/** z.record would leave a key `__proto__` unchecked, and the object is passed on as it is. */
const textsSchema = z.custom<Readonly<Record<string, string>>>(
  (value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string'),
);

/** z.array would report each of a million bad entries. */
const groupsSchema = z.custom<string[]>(
  (value) => Array.isArray(value) && value.every((text) => typeof text === 'string'),
);

/** The same schema, with a list of texts for each key. */
const extraSchema = z.custom<Record<string, string[]>>(
  (value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every(
      (texts) => Array.isArray(texts) && texts.every((text) => typeof text === 'string'),
    ),
);

/** The metadata that a review reads without knowing the object's kind. */
const metadataSchema = z.object({
  metadata: z.object({ labels: z.optional(textsSchema), annotations: z.optional(textsSchema) }),
});

/** Keeps the object unchanged. An object in a CREATE request has no uid and may have no name yet. */
const objectSchema = z.custom<KubernetesObject>(
  (value) => metadataSchema.safeParse(value).success,
  'is no object with metadata',
);
/** The API server writes null; a serializer may leave it out. */
const noObjectSchema = z._default(z.null(), null);

const anyRequestSchema = z.object({
  /** The response has it too. */
  uid: z.string().check(z.minLength(1), z.maxLength(253)),
  kind: z.object({ group: z.string(), version: z.string(), kind: z.string() }),
  resource: z.object({ group: z.string(), version: z.string(), resource: z.string() }),
  subResource: z.optional(z.string()),
  /** The name; missing or empty until the API server chooses it (generateName). */
  name: z.optional(z.string()),
  /** The namespace; missing for a cluster-scoped object; for a Namespace it is the namespace's own name. */
  namespace: z.optional(z.string()),
  userInfo: z.object({
    username: z.string(),
    uid: z.optional(z.string()),
    groups: z._default(groupsSchema, []),
    extra: z.optional(extraSchema),
  }),
  dryRun: z._default(z.boolean(), false),
});

/**
 * `object` is the requested state, `oldObject` the stored one. The API server sends each that exists, also for each object of a
 * deletecollection. The schema requires them: a request without one could make a change look like no change. Our rules do not
 * match CONNECT.
 */
const requestSchema = z.discriminatedUnion('operation', [
  z.extend(anyRequestSchema, {
    operation: z.literal('CREATE'),
    object: objectSchema,
    oldObject: noObjectSchema,
  }),
  z.extend(anyRequestSchema, {
    operation: z.literal('UPDATE'),
    object: objectSchema,
    oldObject: objectSchema,
  }),
  z.extend(anyRequestSchema, {
    operation: z.literal('DELETE'),
    object: noObjectSchema,
    oldObject: objectSchema,
  }),
]);

const reviewSchema = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal(KIND),
  request: requestSchema,
});

/** An admission request, with the fields that a review reads. */
export type AdmissionRequest = Readonly<z.infer<typeof requestSchema>>;

/** The change to the object; a change always has at least one object. */
export type Change = Distributed<AdmissionRequest, 'operation' | 'object' | 'oldObject'>;
type Distributed<T, K extends keyof T> = T extends unknown ? Pick<T, K> : never;

/** The reason for a refusal, in a form that programs can read. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface Denial {
  readonly allowed: false;
  /** HTTP status the client sees; the API server turns anything below 400 into 400. */
  readonly code: number;
  /** metav1.StatusReason. */
  readonly reason: string;
  /** The client reads it after 'admission webhook "…" denied the request: '. */
  readonly message: string;
  readonly causes?: readonly Cause[];
  /** Seconds after which the client may repeat the request; the API server sends them as Retry-After too. */
  readonly retryAfterSeconds?: number;
}

export interface Allowed {
  readonly allowed: true;
  /** RFC 6902; only a mutating webhook may answer with one. */
  readonly patch?: readonly JsonPatch[];
}

export interface JsonPatch {
  readonly op: 'add' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

export type Decision = Allowed | Denial;

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly patchType?: 'JSONPatch';
  /** Base64. */
  readonly patch?: string;
  readonly status?: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details?: Pick<Denial, 'causes' | 'retryAfterSeconds'>;
  };
}

/** An AdmissionReview with our response. */
export interface AnsweredReview {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: typeof KIND;
  readonly response: AdmissionResponse;
}

/** Characters. */
const MAX_LINE = 500;
/** Characters of a refusal: a forged review names its objects by any text. */
const MAX_MESSAGE = 4_000;

/** The request of an AdmissionReview, or one line that says why the body is not a review. */
export function parseReview(body: unknown): AdmissionRequest | string {
  const parsed = reviewSchema.safeParse(body);
  if (parsed.success) return parsed.data.request;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return shown(`no ${API_VERSION} ${KIND}: ${issues.join('; ')}`, MAX_LINE);
}

/** The response for the API server. It must carry the uid of the request. */
export function toResponse(uid: string, decision: Decision): AdmissionResponse {
  if (decision.allowed) return { uid, allowed: true, ...patchOf(decision) };
  const { code, reason, message, causes, retryAfterSeconds } = decision;
  const details = {
    ...(causes === undefined ? {} : { causes }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  return {
    uid,
    allowed: false,
    status: {
      ...{ code, reason, message: shown(message, MAX_MESSAGE) },
      ...(Object.keys(details).length === 0 ? {} : { details }),
    },
  };
}

function patchOf({ patch }: Allowed): Pick<AdmissionResponse, 'patchType' | 'patch'> {
  if (patch === undefined) return {};
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
}

/** The envelope around the answer. */
export const toReview = (response: AdmissionResponse): AnsweredReview => ({
  apiVersion: API_VERSION,
  kind: KIND,
  response,
});
