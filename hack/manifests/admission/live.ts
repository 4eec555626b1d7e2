import { LIVE_ACCOUNT, LIVE_ANNOTATION } from '../../../functions/domain/live/names.ts';
import { userOf, WEBHOOK } from '../../../functions/domain/names.ts';
import { text } from './cel.ts';
import type { Rule } from './manifest.ts';
import { webhook } from './webhooks.ts';

const RULE: Rule = {
  apiGroups: ['forklift.konveyor.io'],
  apiVersions: ['*'],
  resources: ['plans', 'migrations', 'providers', 'storagemaps', 'networkmaps', 'hooks'],
  operations: ['CREATE', 'UPDATE'],
  scope: 'Namespaced',
};

/** The same member before and after the request. */
const changes = (member: string): string => `object${member} != oldObject${member}`;

const annotation = (key: string): string => `.metadata[?'annotations'][?${text(key)}]`;

/** Whether another user than `live` changes the clusters of a run. */
const changesClusters = `(${changes(annotation(LIVE_ANNOTATION.clusters))} && request.userInfo.username != ${text(userOf(LIVE_ACCOUNT))})`;

/**
 * The webhook is mutating, because it writes the requester. It runs again after other webhooks, which may have changed that. It skips most
 * updates, such as those of finalizers. Who cancels a Migration does not become its requester.
 */
export const liveWebhooks: object = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: WEBHOOK.liveConfiguration },
  webhooks: [
    webhook({
      name: WEBHOOK.live,
      reinvocationPolicy: 'IfNeeded',
      rules: [RULE],
      matchConditions: [
        {
          name: 'new-or-of-another-spec-requester-or-clusters',
          expression: `request.operation == 'CREATE' || ${changes(annotation(LIVE_ANNOTATION.requester))}
            || ${changesClusters} || (request.resource.resource == 'migrations' ? ${changes("[?'spec'][?'plan']")} : ${changes("[?'spec']")})`,
        },
      ],
    }),
  ],
};
