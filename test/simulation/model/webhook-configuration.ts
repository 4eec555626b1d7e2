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

/** The model serves none: nothing is ever asked by this rule. */
const unservedSchema = ruleSchema.extend({
  apiGroups: z.tuple([z.literal('resource.k8s.io')]),
  apiVersions: z.tuple([z.literal('*')]),
});

/** Strict on purpose: whatever the manifest says that is not modelled must fail here, not pass for nothing. */
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

/** One webhook of the guard's, as the API server chooses whether to ask it. */
export interface GuardWebhook {
  readonly name: string;
  /** Labels that the request's namespace must have; undefined: any will do. */
  readonly namespaceLabels: Readonly<Record<string, string>> | undefined;
  /** `resource`: with its subresource, as in pods/resize. */
  readonly concerns: (resource: string, operation: AdmissionRequest['operation']) => boolean;
  readonly conditions: readonly MatchCondition[];
}

const MANIFEST = new URL('../../../config/webhook/validatingwebhookconfiguration.yaml', import.meta.url);

/** The guard's webhooks, of the very manifest that is installed. Throws when it says what the model does not know. */
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
