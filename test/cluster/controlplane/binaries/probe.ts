import { spawnSync } from 'node:child_process';
import { PARTS, type BinaryName } from './parts.ts';

const TIMEOUT_MS = 20_000;

/** The binary's version output; throws when it does not run (another platform, truncated, or no binary). */
export function probeVersion(name: BinaryName, path: string): string {
  const answer = spawnSync(path, [...PARTS[name].versionArgs], { encoding: 'utf8', timeout: TIMEOUT_MS });
  if (answer.status === 0) return answer.stdout.trim();
  const why = answer.error?.message ?? answer.stderr.trim();
  throw new Error(`${path} does not run as ${name}: ${why}`);
}
