import type { Namespace } from '../../../functions/domain/objects.ts';
import { userOf, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { AdmissionRequest, Decision } from '../../../webhook/admission/admission.ts';
import { review } from '../../../webhook/admission/review.ts';
import type { ModelCluster } from '../../simulation/model/api-server.ts';

/** Who does something, by the name that both sides know. */
export const USERS = {
  tenant: 'tenant-admin',
  lock: userOf(SERVICE_ACCOUNT.lock),
  kubevirt: userOf('kubevirt-controller', 'kubevirt'),
} as const;
export type User = keyof typeof USERS;

/** How the webhooks answer: as the guard does, or not at all. */
export type GuardMode = 'guard' | 'unreachable';

/** One question to a webhook. */
export interface Asked {
  readonly webhook: string;
  readonly request: AdmissionRequest;
}

/** What a history is played on: the model, or a real API server. */
export interface Side {
  /** The history's namespace. */
  readonly namespace: string;
  readonly as: (user: User) => ModelCluster;
  /** The questions since the last call, about this namespace. */
  readonly asked: () => Asked[];
  readonly guardIs: (mode: GuardMode) => void;
  /** The quota controller stands still, and goes on. */
  readonly pauseController: () => Promise<void>;
  readonly resumeController: () => void;
}

/** The guard's own judgement, on the namespace as it is now. */
export const evaluate = (request: AdmissionRequest, namespace: Namespace | undefined): Decision =>
  review({
    request,
    namespace,
    now: Date.now(),
    incumbent: { kind: 'absent' },
    kubevirtNamespace: 'kubevirt',
    kubevirtController: 'kubevirt-controller',
  });
