import { OUR_USERS, RESERVED, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { list, text } from './cel.ts';

/** KubeVirt's installation as a CEL constant, because CEL cannot read the environment; config/components/openshift patches it. */
const KUBEVIRT = { namespace: 'kubevirt', controller: 'kubevirt-controller' } as const;

const USER = 'request.userInfo.username';

/** The request is from one of our writing processes. */
export const IS_OURS = `${USER} in ${list(OUR_USERS)}`;
export const IS_RAISE = `${USER} == ${text(userOf(SERVICE_ACCOUNT.raise))}`;

/** A variable, so that a component for another KubeVirt namespace patches only one place. */
export const CONTROLLER = {
  name: 'controller',
  expression: text(userOf(KUBEVIRT.controller, KUBEVIRT.namespace)),
};
export const IS_CONTROLLER = `${USER} == variables.controller`;

/** The cluster's own namespaces are never locked, with any label. (A selector cannot match prefixes.) */
export const IS_TENANT_NAMESPACE = `!(request.namespace in ${list([...RESERVED.names, KUBEVIRT.namespace])})
  && !${list(RESERVED.prefixes)}.exists(prefix, request.namespace.startsWith(prefix))`;
