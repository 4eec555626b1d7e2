import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POLICY, WEBHOOK } from '../../../functions/domain/names.ts';
import { POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards } from '../../support/environment/guards.ts';
import { createPod } from '../../support/policies/admission-requests.ts';

/** Clients that create pods themselves, and fail a build or a step for good after a refusal that they do not repeat. */

const TENANT = 'tenant';

interface Refusal {
  readonly code: number;
  readonly retryAfter?: string | undefined;
  readonly message: string;
}

const isExceeded = ({ code, message }: Refusal, words: string): boolean =>
  code === 403 && message.includes(words);
/** client-go, rest/with_retry.go (checkWait): it repeats the request ten times before its caller sees the answer. */
const byClientGo = ({ code, retryAfter }: Refusal): boolean =>
  (code === 429 || code >= 500) && /^\d+$/.test(retryAfter ?? '');

/** Whether the client repeats the request, as its source says. */
const REPEATS: Readonly<Record<string, (refusal: Refusal) => boolean>> = {
  // argoproj/argo-workflows, util/errors (isExceededQuotaErr, IsTooManyRequests).
  'Argo Workflows': (refusal) => isExceeded(refusal, 'exceeded quota') || refusal.code === 429,
  // tektoncd/pipeline, pkg/reconciler/taskrun (isExceededResourceQuotaError).
  Tekton: (refusal) => isExceeded(refusal, 'exceeded quota') || byClientGo(refusal),
  // apache/airflow, kubernetes_executor.py (_handle_pod_publish_error).
  Airflow: (refusal) => isExceeded(refusal, 'exceeded quota') || refusal.code === 429,
  // jenkinsci/kubernetes-plugin, KubernetesLauncher: it takes any other 4xx as final.
  Jenkins: (refusal) => isExceeded(refusal, 'is forbidden: exceeded quota'),
};

let guards: Guards;
let send: (request: ApiRequest) => Promise<ApiAnswer>;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '10', CA_LEAD_MS: '0' });
  await guards.start('guard');
  send = apiRequests(guards.controlPlane.adminKubeconfig);
  await (
    await policiesInForce(guards.admin)
  )();
  await guards.lock(TENANT, '11111111-2222-4333-8444-555555555555');
});

afterAll(async () => {
  await guards.stop();
});

/** The refusal of a pod in the locked namespace, once its text has `by`. */
async function refusal(by: string): Promise<Refusal & Pick<ApiAnswer, 'body'>> {
  const { code, retryAfter, body } = await askUntil(
    `${by} refuses a pod`,
    () => send(createPod(TENANT)),
    ({ body }) => String(body['message']).includes(by),
  );
  return { code, retryAfter, body, message: String(body['message']) };
}

test('each of them repeats a request that the policy refuses while a namespace is locked', async () => {
  const refused = await refusal(`ValidatingAdmissionPolicy '${POLICY.locked}'`);
  expect(refused).toMatchObject({ code: 403, body: { reason: 'Forbidden' } });
  expect(Object.entries(REPEATS).filter(([, repeats]) => !repeats(refused))).toEqual([]);
});

test('the guard’s refusal reaches the client as a 429 with Retry-After, after which client-go repeats by itself', async () => {
  await guards.admin.delete(POLICY_BINDINGS, { name: POLICY.locked });
  const refused = await refusal(`admission webhook "${WEBHOOK.locked}"`);
  expect(refused).toMatchObject({
    code: 429,
    retryAfter: '1',
    body: { reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } },
  });
  expect(byClientGo(refused)).toBe(true);
  const repeat = Object.entries(REPEATS).filter(([, repeats]) => repeats(refused));
  expect(repeat.map(([name]) => name)).toEqual(['Argo Workflows', 'Tekton', 'Airflow']);
});
