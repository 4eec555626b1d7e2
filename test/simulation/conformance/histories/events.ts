import { KIND, KUBEVIRT } from '../../../../functions/domain/names.ts';
import { EVENTS } from '../../../../functions/kubernetes/resources.ts';
import { create, list, type Body, type Step } from '../steps.ts';
import { histories } from './history.ts';

const about = (kind: { readonly apiVersion: string; readonly kind: string }, name: string): Body => ({
  involvedObject: { ...kind, namespace: '(namespace)', name, uid: `uid-of-${name}` },
});

const event = (name: string, involved: Body, reason: string): Step =>
  create(EVENTS, { ...involved, metadata: { name }, reason, type: 'Warning', source: { component: name } });

const ALL = [
  event('refused', about(KIND.vmi, 'vm0'), KUBEVIRT.failedCreate),
  event('made', about(KIND.vmi, 'vm0'), 'SuccessfulCreate'),
  event('locked', about(KIND.migration, 'mig0'), KUBEVIRT.failedCreate),
  event('nameless', about(KIND.vmi, ''), KUBEVIRT.failedCreate),
];

const selected = (...requirements: readonly string[]): Step =>
  list(EVENTS, { fieldSelector: requirements.join(',') });

export const events = histories('event', {
  'one selects by what they are about, and by their reason': [
    ...ALL,
    selected(),
    selected(`reason=${KUBEVIRT.failedCreate}`),
    selected(`involvedObject.kind=${KIND.vmi.kind}`),
    selected(`reason=${KUBEVIRT.failedCreate}`, `involvedObject.kind=${KIND.vmi.kind}`),
    selected(`reason!=${KUBEVIRT.failedCreate}`, `involvedObject.kind==${KIND.vmi.kind}`),
    selected('involvedObject.name='),
    selected('involvedObject.uid=uid-of-vm0', 'type=Warning'),
    selected('type=Normal'),
    selected('source=made'),
  ],
});
