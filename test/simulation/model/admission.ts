import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS, VMIS } from '../../../functions/kubernetes/resources.ts';
import {
  ANNOTATION,
  LABEL,
  OTHER_LOCK_MESSAGE,
  OUR_KEYS,
  OUR_USERS,
  POLICY,
  SERVICE_ACCOUNT,
  userOf,
} from '../../../functions/domain/names.ts';
import { MARKS } from '../../../functions/domain/policy/purpose.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../../webhook/admission/admission.ts';
import { changedKeys } from '../../../webhook/admission/changed-keys.ts';
import { toReview, type Attributes } from './attributes.ts';
import type { Cache } from './cache.ts';
import type { QuotaAdmission } from './quota-admission.ts';
import type { ApiErrors } from './api-errors.ts';
import type { Webhook } from './request.ts';
import type { Store } from './store.ts';
import { guardWebhooks, type GuardWebhook } from './webhook-configuration.ts';

export interface AdmissionParts {
  readonly store: Store;
  readonly namespaces: Cache<Namespace>;
  readonly quota: QuotaAdmission;
  readonly ask: Webhook;
  readonly mayOverride: (user: string) => boolean;
  readonly mayPatchNodes: (user: string) => boolean;
  readonly refuses: (attributes: Attributes) => boolean;
  readonly apiErrors: ApiErrors;
  /** Whether our policies are installed; the webhooks always are. */
  readonly hasPolicies: boolean;
}

/** How long a server distrusts its cache's "Active" for a namespace that it was asked to delete. */
const LIVE_LOOKUP_MS = 30_000;

const INSTALLED = guardWebhooks();
const PROVER = userOf(SERVICE_ACCOUNT.raise);

const isProof = ({ type, operation, dryRun, user }: Attributes): boolean =>
  type.kind === RESOURCE_QUOTAS.kind && operation === 'CREATE' && dryRun && user === PROVER;

/** The proof names the lock in this server's cache. */
function isOfLock({ object }: Attributes, { metadata }: Namespace): boolean {
  const token = metadata.annotations?.[ANNOTATION.token] ?? '';
  return token !== '' && object?.metadata.annotations?.[ANNOTATION.proof] === token;
}

/** The admission plugins before a write is stored, in the API server's order (kubeapiserver/options/plugins.go). */
export class Admission {
  readonly #parts: AdmissionParts;
  /** Until when, by name. */
  readonly #lookUpLive = new Map<string, number>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Rejects with an ApiError when the write is refused. */
  async admit(attributes: Attributes): Promise<void> {
    this.#lifecycle(attributes);
    if (this.#parts.hasPolicies) {
      this.#policyOnProofs(attributes);
      this.#policyOnRaisedQuotas(attributes);
      this.#policyOnPurposes(attributes);
    }
    if (this.#parts.refuses(attributes))
      this.#refuseBy('policy-of-another-party', attributes, 'status is immutable');
    await this.#webhooks(attributes);
    await this.#parts.quota.evaluate(attributes);
  }

  /** NamespaceLifecycle: refuses a create in a namespace that is missing or being deleted. */
  #lifecycle({ type, operation, namespace, name }: Attributes): void {
    const { store, apiErrors } = this.#parts;
    if (type.kind === NAMESPACES.kind) {
      if (operation === 'DELETE') this.#lookUpLive.set(name, store.now() + LIVE_LOOKUP_MS);
      return;
    }
    if (operation !== 'CREATE' || namespace === undefined) return;
    const found = this.#namespace(namespace);
    if (found === undefined) throw apiErrors.notFound({ type: NAMESPACES, name: namespace });
    if (found.status?.phase !== 'Terminating') return;
    const message = `namespace ${namespace} is being terminated`;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const cause = { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' };
    throw apiErrors.forbidden({ type, name }, why, [cause]);
  }

  #namespace(name: string): Namespace | undefined {
    const { namespaces, store } = this.#parts;
    const cached = namespaces.get(name);
    const isDoubted = (this.#lookUpLive.get(name) ?? 0) > store.now() && cached?.status?.phase === 'Active';
    return cached === undefined || isDoubted ? store.get({ kind: NAMESPACES.kind, name }) : cached;
  }

  /** The part of policy `locked` about proofs: this server's cache must have exactly this lock (config/policies/locked.yaml). */
  #policyOnProofs(attributes: Attributes): void {
    const known = this.#parts.namespaces.get(attributes.namespace ?? '');
    if (!isProof(attributes) || known?.metadata.labels?.[LABEL.locked] !== 'true') return;
    if (isOfLock(attributes, known)) return;
    this.#refuseBy(POLICY.locked, attributes, OTHER_LOCK_MESSAGE);
  }

  /** The part of policy `raised-quotas` about our keys that another user removes from a raised quota; it needs no cache. */
  #policyOnRaisedQuotas(attributes: Attributes): void {
    const { type, operation, user, object, oldObject } = attributes;
    const isEdit = type.kind === RESOURCE_QUOTAS.kind && operation === 'UPDATE' && !OUR_USERS.includes(user);
    if (!isEdit || oldObject.metadata.labels?.[LABEL.raised] === undefined) return;
    if (changedKeys({ object, oldObject }, OUR_KEYS.quota).length === 0) return;
    this.#refuseBy(POLICY.raisedQuotas, attributes, 'must wait');
  }

  /** Policy `purposes`: who may not patch nodes marks no migration as KubeVirt's own, and no VMI as outdated. */
  #policyOnPurposes(attributes: Attributes): void {
    const { type, subresource, operation, user, object, oldObject } = attributes;
    if (subresource !== undefined || operation === 'DELETE' || this.#parts.mayPatchNodes(user)) return;
    const isOfMigration = type.kind === MIGRATIONS.kind;
    const isMarked =
      (isOfMigration && MARKS.migration.some((key) => isOtherAnnotation(key, object, oldObject))) ||
      (type.kind === VMIS.kind && operation === 'UPDATE' && isOtherLabel(MARKS.vmi, object, oldObject));
    if (isMarked) this.#refuseBy(POLICY.purposes, attributes, 'may only be written by KubeVirt');
  }

  #refuseBy(policy: string, { type, name }: Attributes, why: string): never {
    const refusal = `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${why}`;
    throw this.#parts.apiErrors.forbidden({ type, name }, refusal, [{ message: refusal }]);
  }

  /** ValidatingAdmissionWebhook: failurePolicy Fail; it calls all matching webhooks in parallel. */
  async #webhooks(attributes: Attributes): Promise<void> {
    const { type, subresource, operation } = attributes;
    // Every rule is for the core group, and a custom resource has another one.
    if (type.apiVersion !== 'v1') return;
    const resource = subresource === undefined ? type.plural : `${type.plural}/${subresource}`;
    const concerned = INSTALLED.filter(
      (webhook) => webhook.concerns(resource, operation) && this.#isSelected(webhook, attributes),
    );
    if (concerned.length > 0) await this.#askAll(concerned, attributes);
  }

  async #askAll(concerned: readonly GuardWebhook[], attributes: Attributes): Promise<void> {
    const { store, mayOverride } = this.#parts;
    const request = toReview(attributes, store.newName('review-'));
    const asked = concerned.filter(({ conditions }) =>
      conditions.every(({ holds }) => holds(request, mayOverride)),
    );
    await Promise.all(asked.map(({ name }) => this.#ask(name, request)));
  }

  /** By the namespace's labels in this server's cache, which may be old (webhook/predicates/namespace). */
  #isSelected({ namespaceLabels }: GuardWebhook, { namespace }: Attributes): boolean {
    if (namespaceLabels === undefined || namespace === undefined) return true;
    const { namespaces, store, apiErrors } = this.#parts;
    const found = namespaces.get(namespace) ?? store.get({ kind: NAMESPACES.kind, name: namespace });
    if (found === undefined) throw apiErrors.notFound({ type: NAMESPACES, name: namespace });
    const labels = found.metadata.labels ?? {};
    return Object.entries(namespaceLabels).every(([key, value]) => labels[key] === value);
  }

  async #ask(webhook: string, request: AdmissionRequest): Promise<void> {
    const { ask, apiErrors } = this.#parts;
    let response: AdmissionResponse;
    try {
      response = await ask(request, webhook);
    } catch (error) {
      const why = `failed calling webhook "${webhook}": failed to call webhook: ${describeError(error)}`;
      throw apiErrors.internal(why);
    }
    if (response.allowed) return;
    const { code = 400, reason = '', message = '', details } = response.status ?? {};
    throw apiErrors.of({
      code: Math.max(code, 400),
      reason,
      message: `admission webhook "${webhook}" denied the request: ${message}`,
      ...(details === undefined ? {} : { details }),
    });
  }
}

type Compared = KubernetesObject | null | undefined;

const isOtherAnnotation = (key: string, object: Compared, former: Compared): boolean =>
  object?.metadata.annotations?.[key] !== former?.metadata.annotations?.[key];

const isOtherLabel = (key: string, object: Compared, former: Compared): boolean =>
  object?.metadata.labels?.[key] !== former?.metadata.labels?.[key];
