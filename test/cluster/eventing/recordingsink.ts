import { dropBroken } from '../broken-request.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { bodyOf, listen } from './exchange.ts';

/** A request as it arrived. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  /** Names and values in the order and case of the wire. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A sink for tests: it gives scripted answers, and records the requests. */
export interface RecordingSink {
  readonly url: string;
  readonly requests: readonly Recorded[];
  /** Resolves when there are at least `count` requests. */
  readonly received: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** `answer` hears the number of the request, from 1; it may wait, or give undefined: the connection is cut. */
export async function recordingSink(
  answer: (request: Recorded, number: number) => Reply | undefined | Promise<Reply | undefined> = () => ({
    status: 202,
  }),
): Promise<RecordingSink> {
  const requests: Recorded[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const { url, close } = await listen((request, response) => {
    const record = async (): Promise<void> => {
      const { method = '', url: path = '', rawHeaders, headers } = request;
      const recorded = { method, path, rawHeaders, headers, body: (await bodyOf(request)).toString('utf8') };
      const number = requests.push(recorded);
      waiting.filter(({ count }) => requests.length >= count).forEach(({ resolve }) => resolve());
      const reply = await answer(recorded, number);
      if (reply === undefined) request.socket.destroy();
      else response.writeHead(reply.status, reply.headers).end(reply.body);
    };
    record().catch(dropBroken(request));
  });
  return {
    url,
    close,
    requests,
    received: async (count) => {
      if (requests.length >= count) return;
      await new Promise<void>((resolve) => waiting.push({ count, resolve }));
    },
  };
}
