/** Posts events about drains and upgrades to a chat. WEBHOOK_URL: takes `{"text": …}`, as Slack and Mattermost do. */
import { serve } from '../serve.ts';
import { schemasIn, textOf } from './notify.ts';

/** An event may come more than once, always with the same id: this process sends it once. */
const MAX_SENT = 1_000;

const { WEBHOOK_URL, PORT = '8080' } = process.env;
if (WEBHOOK_URL === undefined) throw new Error('WEBHOOK_URL is not set');

const schemas = schemasIn(new URL('../../docs/events/', import.meta.url));
const sent = new Set<string>();

await serve(async (event) => {
  const text = textOf(event, schemas);
  if (sent.has(event.id)) return undefined;
  const response = await fetch(WEBHOOK_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text, unfurl_links: false, unfurl_media: false }),
    signal: AbortSignal.timeout(5_000),
  });
  if (!response.ok) throw new Error(`the chat answered ${String(response.status)}`);
  sent.add(event.id);
  for (const id of sent) if (sent.size > MAX_SENT) sent.delete(id);
  return undefined;
}, Number(PORT));
