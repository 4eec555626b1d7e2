import type {
  KubernetesEvent,
  LimitRange,
  PersistentVolumeClaim,
  ResourceList,
  VirtualMachineInstance,
} from '../../../functions/domain/objects.ts';
import { aVmi } from './kubevirt.ts';
import { build, metadata, seconds, type Change } from './object.ts';

/** virt-controller's Event on vm0 for a refusal with this text by the API server, this many seconds after NOW. */
export const aFailure = (text: string, after = -5): KubernetesEvent => ({
  metadata: metadata(`vm0.${String(after)}`),
  involvedObject: { kind: 'VirtualMachineInstance', name: 'vm0', uid: 'uid-of-vm0' },
  reason: 'FailedCreate',
  message: `Error creating pod: ${text}`,
  lastTimestamp: seconds(after),
});

/** The API server's prefix before an admission plugin's message. */
export const forbidden = (why: string): string => `pods "virt-launcher-vm0-x7k2p" is forbidden: ${why}`;

/** Exceeded quota; the requests as "key=amount,key=amount". */
export const exceeded = (quota: string, requested: string, limited = 'pods=1'): string =>
  forbidden(`exceeded quota: ${quota}, requested: ${requested}, used: pods=1, limited: ${limited}`);

/** LimitRange `range` with defaults for containers. */
export const aLimitRange = (defaultRequest: ResourceList = {}, limits: ResourceList = {}): LimitRange => ({
  metadata: metadata('range'),
  spec: { limits: [{ type: 'Container', defaultRequest, default: limits }] },
});

/** vm0 with a persistent TPM. */
export const keepingState = (): VirtualMachineInstance => ({
  ...aVmi(),
  spec: { domain: { devices: { tpm: { persistent: true } } } },
});

/** The ReadWriteOnce volume claim of vm0's state. */
export function aClaim(...changes: Change<PersistentVolumeClaim>[]): PersistentVolumeClaim {
  const base: PersistentVolumeClaim = {
    metadata: { ...metadata('persistent-state-for-vm0-abcde'), labels: { 'persistent-state-for': 'vm0' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'gold',
      resources: { requests: { storage: '10Mi' } },
    },
  };
  return build(base, changes);
}
