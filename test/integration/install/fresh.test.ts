import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WEBHOOK } from '../../../functions/domain/names.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards } from '../../support/environment/guards.ts';

let guards: Guards;

beforeAll(async () => {
  guards = await startGuards({ CA_LEAD_MS: '0' });
});

afterAll(async () => {
  await guards.stop();
});

/** The guard's log lines so far. */
async function linesOf(name: string): Promise<{ level: string; message: string }[]> {
  const text = await readFile(join(guards.controlPlane.folder, `${name}.log`), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as { level: string; message: string });
}

test('a guard that starts before its webhooks, as `kubectl apply -k` does it, logs no error, and what it waits for', async () => {
  const { admin } = guards;
  const at = { name: WEBHOOK.configuration };
  const { object } = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, at);
  await admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, at);
  const replica = await guards.start('fresh', 'liveness');
  await askUntil(
    'it waits for the webhooks',
    () => replica.problem(),
    (said) => said.includes('is not there'),
  );
  await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: at, webhooks: object.webhooks ?? [] });
  await askUntil(
    'it is ready',
    () => replica.problem(),
    (said) => said === '',
  );
  const lines = await linesOf('fresh');
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  expect(lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: expect.stringMatching(/waiting .*ValidatingWebhookConfiguration mtq-guard is not there/),
    }),
  );
});
