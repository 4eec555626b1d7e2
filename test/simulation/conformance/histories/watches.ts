import { LABEL } from '../../../../functions/domain/names.ts';
import { PODS, RESOURCE_QUOTAS, VMMRQS } from '../../../../functions/kubernetes/resources.ts';
import { create, createPod, patch, remove, watched, type Step } from '../steps.ts';
import { histories, QUOTA, vmmrq } from './history.ts';

const labelled = (value: string | null): Step =>
  patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { labels: { [LABEL.raised]: value } } } });

export const watches = histories('watches', {
  'by a label: what begins to match is ADDED, what does not match any more is DELETED, as it was': [
    QUOTA,
    labelled('true'),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: '1' } } } }),
    labelled(null),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: '2' } } } }),
    labelled('true'),
    remove(RESOURCE_QUOTAS, 'quota'),
    watched(RESOURCE_QUOTAS, 'quota', { labelSelector: `${LABEL.raised}=true`, count: 5 }),
  ],
  'by a name: only that one, from the version that was asked for': [
    create(VMMRQS, vmmrq('one', '1'), { keep: 'one' }),
    create(VMMRQS, vmmrq('two', '1')),
    patch(VMMRQS, 'two', { merge: { spec: { additionalMigrationResources: { pods: '2' } } } }),
    patch(VMMRQS, 'one', { merge: { spec: { additionalMigrationResources: { pods: '2' } } } }),
    remove(VMMRQS, 'one'),
    watched(VMMRQS, 'one', { fieldSelector: 'metadata.name=one', count: 2 }),
  ],
  'a quota is seen to be counted, charged and counted again': [
    QUOTA,
    createPod('pod'),
    remove(PODS, 'pod'),
    watched(RESOURCE_QUOTAS, 'quota', { fieldSelector: 'metadata.name=quota', count: 3 }),
  ],
  'of all: each change in its order': [
    create(VMMRQS, vmmrq('one', '1'), { keep: 'one' }),
    create(VMMRQS, vmmrq('two', '1')),
    remove(VMMRQS, 'one'),
    create(VMMRQS, vmmrq('one', '2')),
    watched(VMMRQS, 'one', { count: 3 }),
  ],
});
