import { LIVE_ANNOTATION, MOVED_POLICY } from '../../../functions/domain/live/names.ts';
import { LIVE_REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, text, withHoles } from './cel.ts';
import type { Policy } from './manifest.ts';

const movedTo = (of: string): string => annotation(of, LIVE_ANNOTATION.movedTo);

/** Whether KubeVirt keeps the VM running, or starts it by a request. */
const isOn = (of: string): string =>
  `(${of}[?'spec'][?'running'].orValue(false) == true || ${of}[?'spec'][?'runStrategy'].orValue('Halted') != 'Halted')`;
/** Whether a start is requested, as virt-api does for some run strategies, and also as a part of a restart. */
const isStartRequested = (of: string): string =>
  `${of}[?'status'][?'stateChangeRequests'].orValue([]).exists(one, one[?'action'].orValue('') == ${text('Start')})`;

/** Whether only the request makes it so. */
const becomes = (state: (of: string) => string): string => `(${state('object')} && !${state('oldObject')})`;

/**
 * Nothing starts a VM again that has moved: no `virtctl start` by virt-api, no GitOps tool, and no virt-controller. The policy works where
 * nothing else of this project runs, such as on the source. It admits a request that it cannot evaluate, because it may be KubeVirt's own.
 */
export const movedVms: Policy = {
  name: MOVED_POLICY,
  failurePolicy: 'Ignore',
  rules: [
    {
      apiGroups: ['kubevirt.io'],
      apiVersions: ['*'],
      resources: ['virtualmachines', 'virtualmachines/status'],
      operations: ['UPDATE'],
      scope: 'Namespaced',
    },
  ],
  matchConditions: [
    {
      name: 'has-moved',
      expression: `${movedTo('object')}.hasValue() && ${movedTo('oldObject')}.hasValue()`,
    },
  ],
  validations: [
    {
      expression: `!(${becomes(isOn)} || ${becomes(isStartRequested)})`,
      message: `the VM has moved to another cluster: to start this one on purpose, remove its annotation ${LIVE_ANNOTATION.movedTo} first`,
      messageExpression: withHoles(
        LIVE_REFUSAL.moved({
          namespace: hole('request.namespace'),
          name: hole('request.name'),
          to: hole(`${movedTo('object')}.orValue('')`),
        }),
      ),
    },
  ],
};
