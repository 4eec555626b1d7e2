import {
  startWebhookServer,
  type Respond,
  type WebhookAnswer,
  type WebhookServer,
} from '../../cluster/webhook-server.ts';

/** A foreign webhook with scripted answers. */
export interface StubWebhook extends WebhookServer {
  /** Sets the answer to each later review. */
  respondWith(answer: WebhookAnswer | Respond): void;
}

export async function startStubWebhook(): Promise<StubWebhook> {
  let next: Respond = () => 500;
  const server = await startWebhookServer((request, path) => next(request, path));
  return {
    ...server,
    respondWith: (answer) => {
      next = typeof answer === 'function' ? answer : () => answer;
    },
  };
}
