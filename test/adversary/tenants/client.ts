import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { Attempt } from './attack.ts';

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { token: string } }];
}

export interface Answer {
  /** HTTP status; 0: no response. */
  readonly code: number;
  readonly text: string;
}

const SILENCE_MS = 20_000;

/** One client of a tenant: connections of its own, kept open, as the user of this kubeconfig. Never rejects. */
export function clientOf(kubeconfig: string): (attempt: Attempt) => Promise<Answer> {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': data } = clusters[0].cluster;
  const ca = Buffer.from(data, 'base64');
  const secure = new https.Agent({ keepAlive: true, ca });
  const plain = new http.Agent({ keepAlive: true });
  const authorization = `Bearer ${users[0].user.token}`;
  return ({ method, path, contentType = 'application/json', headers = {}, body }) => {
    const isElsewhere = path.startsWith('http:');
    const text = body === undefined ? undefined : JSON.stringify(body);
    const options = {
      method,
      agent: isElsewhere ? plain : secure,
      headers: {
        ...headers,
        ...(isElsewhere ? {} : { authorization }),
        ...(text === undefined
          ? {}
          : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }),
      },
    };
    const url = isElsewhere ? new URL(path) : new URL(path, server);
    return exchange((isElsewhere ? http : https).request(url, options), text);
  };
}

function exchange(request: http.ClientRequest, body: string | undefined): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = (error: Error): void => resolve({ code: 0, text: error.message });
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error('silent')));
    request.on('error', failed);
    request.on('response', (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', failed);
      answer.on('end', () =>
        resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    request.end(body);
  });
}
