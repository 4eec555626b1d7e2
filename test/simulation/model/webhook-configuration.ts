import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import type { AdmissionRequest } from '../../../webhook/admission/admission.ts';
import { MATCH_CONDITIONS, sameExpression, type MatchCondition } from './match-conditions.ts';

const texts = z.array(z.string());

const ruleSchema = z.strictObject({
  apiGroups: z.tuple([z.literal('')]),
  apiVersions: z.tuple([z.literal('v1')]),
  resources: texts,
  operations: texts,
  scope: z.enum(['Cluster', 'Namespaced']),
});

/** The model has no such resource, so this rule never matches. */
const unservedSchema = ruleSchema.extend({
  apiGroups: z.tuple([z.literal('resource.k8s.io')]),
  apiVersions: z.tuple([z.literal('*')]),
});

/** Strict on purpose: a field that the model does not implement must fail here, not be ignored. */
const webhookSchema = z.strictObject({
  name: z.string(),
  admissionReviewVersions: z.tuple([z.literal('v1')]),
  sideEffects: z.literal('None'),
  failurePolicy: z.literal('Fail'),
  matchPolicy: z.literal('Equivalent'),
  timeoutSeconds: z.number(),
  clientConfig: z.unknown(),
  namespaceSelector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }).optional(),
  rules: z.array(z.union([ruleSchema, unservedSchema])),
  matchConditions: z.array(z.strictObject({ name: z.string(), expression: z.string() })),
});

const manifestSchema = z.strictObject({
  apiVersion: z.literal('admissionregistration.k8s.io/v1'),
  kind: z.literal('ValidatingWebhookConfiguration'),
  metadata: z.unknown(),
  webhooks: z.array(webhookSchema),
});

/** One webhook of the guard, with the API server's match rules. */
export interface GuardWebhook {
  readonly name: string;
  /** Labels that the request's namespace must have; undefined: any will do. */
  readonly namespaceLabels: Readonly<Record<string, string>> | undefined;
  /** `resource`: with its subresource, as in pods/resize. */
  readonly concerns: (resource: string, operation: AdmissionRequest['operation']) => boolean;
  readonly conditions: readonly MatchCondition[];
}

const MANIFEST = new URL('../../../config/webhook/validatingwebhookconfiguration.yaml', import.meta.url);

/** The guard's webhooks from the installed manifest. Throws for a field that the model does not know. */
export function guardWebhooks(text: string = readFileSync(MANIFEST, 'utf8')): GuardWebhook[] {
  return manifestSchema
    .parse(parse(text))
    .webhooks.map(({ name, namespaceSelector, rules, matchConditions }) => ({
      name,
      namespaceLabels: namespaceSelector?.matchLabels,
      concerns: (resource, operation) =>
        rules.some(
          ({ resources, operations }) => resources.includes(resource) && operations.includes(operation),
        ),
      conditions: matchConditions.map(conditionOf),
    }));
}

function conditionOf({ name, expression }: { name: string; expression: string }): MatchCondition {
  const condition = MATCH_CONDITIONS[name];
  if (condition === undefined || !sameExpression(condition.expression, expression)) {
    throw new Error(`the model knows no matchCondition '${name}' that says: ${expression}`);
  }
  return condition;
}
