import { readFileSync } from 'node:fs';
import https from 'node:https';

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

export interface ApiAnswer {
  readonly code: number;
  /** The API server's Warning headers, as kubectl prints them. */
  readonly warnings: string;
  /** The header Retry-After, seconds; undefined: there is none. */
  readonly retryAfter?: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { token: string } }];
}

/**
 * Sends requests as the user of this kubeconfig (one of the local control plane), for features that the typed client lacks:
 * field validation, tables, subresources. A refusal is an answer too; rejects only without an answer.
 */
export function apiRequests(kubeconfig: string): (request: ApiRequest) => Promise<ApiAnswer> {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  return ({ method = 'GET', path, body, contentType = 'application/json', accept = 'application/json' }) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${users[0].user.token}`, accept, 'content-type': contentType };
      const options = { method, headers, ca: Buffer.from(ca, 'base64'), agent: false, timeout: 10_000 };
      const request = https.request(new URL(path, server), options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const body = parse(Buffer.concat(chunks).toString('utf8'));
          const { warning = '', 'retry-after': retryAfter } = answer.headers;
          resolve({ code: answer.statusCode ?? 0, warnings: warning, retryAfter, body });
        });
      });
      request.on('timeout', () => request.destroy(new Error(`${path}: no answer`)));
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/** The API server answers an unserved path in plain text. */
function parse(text: string): ApiAnswer['body'] {
  try {
    return JSON.parse(text) as ApiAnswer['body'];
  } catch {
    return { message: text };
  }
}
