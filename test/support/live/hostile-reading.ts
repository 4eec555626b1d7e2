import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startHostileServer } from './hostile.ts';

/** What a process has measured beside hostile API servers (hostile-reader.ts). */
export interface HostileReading {
  /** Milliseconds of another tenant's check. */
  readonly alone: number;
  readonly beside: number;
  /** Bytes of memory, at most. */
  readonly rss: number;
}

interface Reader {
  /** Flags of Node. */
  readonly flags: readonly string[];
  /** As in Remotes. */
  readonly memoryMib: number;
  /** Providers for each way. */
  readonly providers: number;
  readonly ways: readonly string[];
  /** The bundle of HOSTILE_READER. */
  readonly script: string;
}

/** The process, to be bundled: Node would need 30 MiB more to strip its types. */
export const HOSTILE_READER = fileURLToPath(new URL('hostile-reader.ts', import.meta.url));

/** Runs a process beside a hostile server. Rejects if the process fails. */
export async function readHostile({
  flags,
  memoryMib,
  providers,
  ways,
  script,
}: Reader): Promise<HostileReading> {
  const [good, hostile] = await Promise.all([startHostileServer(), startHostileServer()]);
  try {
    const remotes = [good.remote('good'), hostile.remote('bomb')].map((remote) => JSON.stringify(remote));
    const numbers = [memoryMib, providers].map(String);
    const all = [...flags, script, ...remotes, ...numbers, ...ways];
    const { stdout } = await promisify(execFile)(process.execPath, all, { timeout: 180_000 });
    return JSON.parse(stdout) as HostileReading;
  } finally {
    await Promise.all([good.stop(), hostile.stop()]);
  }
}
