import type { Namespace } from '../../../functions/domain/objects.ts';
import { userOf, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { AdmissionRequest, Decision } from '../../../webhook/admission/admission.ts';
import { review } from '../../../webhook/admission/review.ts';
import type { ModelCluster } from '../model/api-server.ts';

/** Users, by names that both sides know. */
export const USERS = {
  tenant: 'tenant-admin',
  lock: userOf(SERVICE_ACCOUNT.lock),
  kubevirt: userOf('kubevirt-controller', 'kubevirt'),
} as const;
export type User = keyof typeof USERS;

/** The webhooks' answers: like the guard, or none. */
export type GuardMode = 'guard' | 'unreachable';

/** One call of a webhook. */
export interface Asked {
  readonly webhook: string;
  readonly request: AdmissionRequest;
}

/** The target of a history: the model, or a real API server. */
export interface Side {
  /** The history's namespace. */
  readonly namespace: string;
  readonly as: (user: User) => ModelCluster;
  /** The webhook calls for this namespace since the last read. */
  readonly asked: () => Asked[];
  readonly guardIs: (mode: GuardMode) => void;
  /** Suspends and resumes the quota controller. */
  readonly pauseController: () => Promise<void>;
  readonly resumeController: () => void;
}

/** The guard's own decision, for the current namespace. */
export const evaluate = (request: AdmissionRequest, namespace: Namespace | undefined): Decision =>
  review({
    request,
    namespace,
    now: Date.now(),
    incumbent: { kind: 'absent' },
    kubevirtNamespace: 'kubevirt',
    kubevirtController: 'kubevirt-controller',
  });
