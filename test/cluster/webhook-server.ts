import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { parseReview, type AdmissionRequest } from '../../webhook/admission/admission.ts';
import { dropBroken } from './broken-request.ts';
import { newServingCertificate } from './serving-certificate.ts';

/** A webhook's answer: an AdmissionResponse without its uid, or only an HTTP status. */
export type WebhookAnswer =
  | {
      readonly allowed: boolean;
      readonly status?: { code: number; reason?: string; message: string; details?: object };
      /** A JSON Patch in base64. */
      readonly patchType?: 'JSONPatch';
      readonly patch?: string;
    }
  | number;

/** `path`: of the called URL. */
export type Respond = (request: AdmissionRequest, path: string) => WebhookAnswer | Promise<WebhookAnswer>;

/** An admission webhook that runs in this process. */
export interface WebhookServer {
  /** For clientConfig: its URL and CA (base64 of PEM). */
  readonly clientConfig: { readonly url: string; readonly caBundle: string };
  stop(): Promise<void>;
}

/** Serves on a free port, with a certificate of its own. */
export async function startWebhookServer(respond: Respond): Promise<WebhookServer> {
  const { serving, ca } = newServingCertificate();
  const server = createServer(serving, (request, response) => {
    answer(request, respond)
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      })
      .catch(dropBroken(request));
  });
  const { promise: listening, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, () => resolve(undefined));
  await listening;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    clientConfig: {
      url: `https://localhost:${port}/review`,
      caBundle: Buffer.from(ca).toString('base64'),
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function answer(request: IncomingMessage, respond: Respond): Promise<{ status: number; body: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const review = parseReview(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  if (typeof review === 'string') return { status: 400, body: review };
  const answer = await respond(review, request.url ?? '');
  if (typeof answer === 'number') return { status: answer, body: '' };
  const response = { uid: review.uid, ...answer };
  return {
    status: 200,
    body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }),
  };
}
