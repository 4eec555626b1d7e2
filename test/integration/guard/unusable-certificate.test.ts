import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { CERTIFICATES_SECRET } from '../../../webhook/tls/certificates.ts';
import { SECRETS } from '../../../webhook/tls/resources.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { WITH_WEBHOOKS } from '../../support/environment/admission-mode.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ admissionMode: WITH_WEBHOOKS });
});

afterAll(async () => {
  await environment.stop();
});

test('a starting guard replaces an unusable certificate in its Secret', async () => {
  const { admin, cluster } = environment;
  const at = { namespace: SYSTEM_NAMESPACE, name: CERTIFICATES_SECRET };
  await cluster.killGuard();
  await admin.patch(SECRETS, at, { merge: { data: { 'tls.crt': '' } } });
  await cluster.startGuard();
  const { object } = await admin.get(SECRETS, at);
  expect(object.data?.['tls.crt']).not.toBe('');
});
