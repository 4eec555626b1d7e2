/** virt-api's answer to the creation or change of a migration, as far as it is about priorities (facts/kubevirt.md §1.5). Pure. */
import type { Vmim } from '../objects/types.ts';

export interface MigrationRequest {
  readonly user: string;
  /** Of the KubeVirt CR. */
  readonly namespace: string;
  readonly migration: Vmim;
  /** Undefined: a creation. */
  readonly before: Vmim | undefined;
}

/** The refusal: the text and its HTTP status. */
export interface MigrationRefusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/** KubeVirt's own service accounts. */
const ACCOUNTS = ['kubevirt-apiserver', 'kubevirt-controller', 'kubevirt-handler'];

export function refusalOf(request: MigrationRequest): MigrationRefusal | undefined {
  const { user, namespace, migration, before } = request;
  if (before !== undefined) {
    return JSON.stringify(before.spec) === JSON.stringify(migration.spec)
      ? undefined
      : { code: 422, reason: 'Invalid', message: "update of Migration object's spec is restricted" };
  }
  const own = ACCOUNTS.map((name) => `system:serviceaccount:${namespace}:${name}`);
  if (migration.spec.priority === undefined || own.includes(user)) return undefined;
  return {
    code: 400,
    reason: 'BadRequest',
    message: 'Migration priority queue, only virt-controller is allowed to set priority field',
  };
}
