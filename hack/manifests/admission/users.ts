import { OUR_USERS, RESERVED, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { list, text } from './cel.ts';

/** KubeVirt's installation as CEL knows it, which reads no environment; config/components/openshift patches it. */
export const KUBEVIRT = { namespace: 'kubevirt', controller: 'kubevirt-controller' } as const;

const USER = 'request.userInfo.username';

/** One of our processes that write. */
export const IS_OURS = `${USER} in ${list(OUR_USERS)}`;
export const IS_RAISE = `${USER} == ${text(userOf(SERVICE_ACCOUNT.raise))}`;

/** A variable, so that another installation of KubeVirt is patched in one place. */
export const CONTROLLER = {
  name: 'controller',
  expression: text(userOf(KUBEVIRT.controller, KUBEVIRT.namespace)),
};
export const IS_CONTROLLER = `${USER} == variables.controller`;

/** A namespace that is no tenant's is never locked, whatever label it has. (A selector has no prefixes.) */
export const IS_TENANT_NAMESPACE = `!(request.namespace in ${list([...RESERVED.names, KUBEVIRT.namespace])})
  && !${list(RESERVED.prefixes)}.exists(prefix, request.namespace.startsWith(prefix))`;
