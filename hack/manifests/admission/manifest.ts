import { oneLine } from './cel.ts';

/** A ValidatingAdmissionPolicy and its binding as objects, and the parts that policies and webhooks share. */

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
}

export interface Variable {
  readonly name: string;
  readonly expression: string;
}
export type Condition = Variable;

export interface Validation {
  readonly expression: string;
  /** The message when messageExpression fails. */
  readonly message: string;
  readonly messageExpression: string;
}

export interface Policy {
  readonly name: string;
  /** Fail, except where a request that the policy cannot evaluate may be our own repair. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly namespaceSelector?: object;
  readonly rules: readonly Rule[];
  readonly matchConditions?: readonly Condition[];
  readonly variables?: readonly Variable[];
  readonly validations: readonly Validation[];
  readonly paramKind?: object;
  readonly paramRef?: object;
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

export const conditionsOf = (conditions: readonly Condition[]): object[] =>
  conditions.map(({ name, expression }) => ({ name, expression: oneLine(expression) }));

/** The policy and its binding, with the same name. */
export function policyObjects(policy: Policy): readonly object[] {
  const { name, paramKind, paramRef, namespaceSelector, matchConditions, variables, validations } = policy;
  const spec = {
    failurePolicy: policy.failurePolicy ?? 'Fail',
    ...(paramKind === undefined ? {} : { paramKind }),
    matchConstraints: {
      matchPolicy: 'Equivalent',
      ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
      resourceRules: policy.rules,
    },
    ...(matchConditions === undefined ? {} : { matchConditions: conditionsOf(matchConditions) }),
    ...(variables === undefined ? {} : { variables: conditionsOf(variables) }),
    validations: validations.map(({ expression, message, messageExpression }) => ({
      expression: oneLine(expression),
      reason: 'Forbidden',
      message,
      messageExpression: oneLine(messageExpression),
    })),
  };
  const binding = {
    policyName: name,
    validationActions: ['Deny'],
    ...(paramRef === undefined ? {} : { paramRef }),
  };
  return [
    { apiVersion: API_VERSION, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec },
    { apiVersion: API_VERSION, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name }, spec: binding },
  ];
}
