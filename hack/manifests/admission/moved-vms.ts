import { LIVE_ANNOTATION, MOVED_POLICY } from '../../../functions/domain/live/names.ts';
import { LIVE_REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, text, withHoles } from './cel.ts';
import type { Policy } from './manifest.ts';

/** The annotation before the request: one that takes it off and starts the VM, such as a replace, is refused too. */
const MOVED_TO = annotation('oldObject', LIVE_ANNOTATION.movedTo);
const hasMoved = `${MOVED_TO}.hasValue()`;
/** The record of a run that a user has given up stays, and may be the only sign. One that was copied to another VM does not count. */
const RECORD = `${annotation('oldObject', LIVE_ANNOTATION.run)}.orValue('')`;
const hasArrived = `(${RECORD}.contains('"arrivedAt":') && ${RECORD}.contains('"vm":"' + oldObject.metadata.uid + '"'))`;

/** Whether KubeVirt keeps the VM running, or starts it by a request. */
const isOn = (of: string): string =>
  `(${of}[?'spec'][?'running'].orValue(false) == true || ${of}[?'spec'][?'runStrategy'].orValue('Halted') != 'Halted')`;
/** Whether a start is requested, as virt-api does for some run strategies, and also as a part of a restart. */
const isStartRequested = (of: string): string =>
  `${of}[?'status'][?'stateChangeRequests'].orValue([]).exists(one, one[?'action'].orValue('') == ${text('Start')})`;

/** Whether only the request makes it so. */
const becomes = (state: (of: string) => string): string => `(${state('object')} && !${state('oldObject')})`;

const isStarted = `(${becomes(isOn)} || ${becomes(isStartRequested)})`;
const PLACE = { namespace: hole('request.namespace'), name: hole('request.name') };

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
  matchConditions: [{ name: 'has-moved', expression: `${hasMoved} || ${hasArrived}` }],
  validations: [
    {
      expression: `!(${hasMoved} && ${isStarted})`,
      message: `the VM has moved to another cluster: to start this one on purpose, remove its annotation ${LIVE_ANNOTATION.movedTo} first`,
      messageExpression: withHoles(LIVE_REFUSAL.moved(PLACE)),
    },
    {
      expression: `!${isStarted}`,
      message: `the guest of the VM is on another cluster: to start this one on purpose, end its run, and remove its annotation ${LIVE_ANNOTATION.run} first`,
      messageExpression: withHoles(LIVE_REFUSAL.arrived(PLACE)),
    },
  ],
};
