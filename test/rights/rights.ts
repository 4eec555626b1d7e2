import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_ACCOUNT } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { grantsOf, isGranted } from '../support/environment/granted.ts';
import type { UsedRight } from '../support/environment/rights-used.ts';

/** Rights that the manifests must grant although no test uses them, with the reason. */
const UNSEEN: Readonly<Record<string, string>> = {
  // facts/knative.md §1.5: the source's controller checks all three, the adapter lists and watches.
  'mtq-source get resourcequotas': 'Knative makes no adapter for a service account that may not get',
  'mtq-source get virtualmachineinstancemigrations.kubevirt.io': 'the same',
  'mtq-source get virtualmachinemigrationresourcequotas.mtq.kubevirt.io': 'the same',
};

export function usedIn(folder: string): UsedRight[] {
  return readdirSync(folder).flatMap(
    (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as UsedRight[],
  );
}

/** Granted rights that no request used, and requests without a granted right; must be empty. */
export function rightsProblems(objects: readonly KubernetesObject[], used: readonly UsedRight[]): string[] {
  const accounts = Object.values(SERVICE_ACCOUNT);
  return [
    ...accounts.flatMap((account) => unused(objects, account, used)),
    // Examples have accounts of their own, and their own test holds them to their rights.
    ...used
      .filter((use) => accounts.some((account) => account === use.account))
      .filter((use) => !isGranted(grantsOf(objects, use.account), asAudited(use)))
      .map((use) => `asked for, but not granted: ${textOf(use)}`),
  ];
}

function unused(objects: readonly KubernetesObject[], account: string, used: readonly UsedRight[]): string[] {
  const mine = used.filter((use) => use.account === account);
  const rights = grantsOf(objects, account).flatMap(({ rule, namespace }) =>
    rule.verbs.flatMap((verb) =>
      (rule.apiGroups ?? []).flatMap((apiGroup) =>
        (rule.resources ?? []).flatMap((resource) =>
          (rule.resourceNames ?? [undefined]).map((name) => {
            const one = { apiGroups: [apiGroup], resources: [resource], verbs: [verb] };
            const only = name === undefined ? one : { ...one, resourceNames: [name] };
            const right = { account, verb, apiGroup, resource, ...(name === undefined ? {} : { name }) };
            return { right, grant: { rule: only, namespace } };
          }),
        ),
      ),
    ),
  );
  return rights.flatMap(({ right, grant }) => {
    const text = textOf(right);
    const isUsed = mine.some((use) => isGranted([grant], asAudited(use)));
    if (isUsed && text in UNSEEN) return [`used after all, so no exception: ${text}`];
    return isUsed || text in UNSEEN ? [] : [`granted, and no call used it: ${text}`];
  });
}

/** A request as the API server's authorizer sees it. */
function asAudited({
  verb,
  apiGroup,
  resource,
  namespace,
  name,
}: UsedRight): Parameters<typeof isGranted>[1] {
  const [plural = '', subresource] = resource.split('/');
  const objectRef = {
    resource: plural,
    apiGroup,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
  return { verb, objectRef };
}

type RightName = Pick<UsedRight, 'account' | 'verb' | 'apiGroup' | 'resource'> & { readonly name?: string };
const textOf = ({ account, verb, apiGroup, resource, name }: RightName): string =>
  `${account} ${verb} ${resource}${apiGroup === '' ? '' : `.${apiGroup}`}${name === undefined ? '' : ` (${name})`}`;
