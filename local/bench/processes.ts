import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scene } from './scene.ts';

/** Resident memory in MiB, as the kernel counts it (Linux). */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kibibytes) / 1_024;
}

const LOOK_EVERY_MS = 5;

/** Ends every process of a function in good order, so that the next event starts them all from zero. */
export async function toZero({ cluster: { eventing } }: Scene): Promise<void> {
  const { activator } = eventing;
  for (const { service } of activator.running()) activator.kill(service, 'SIGTERM');
  while (activator.running().length > 0) await delay(LOOK_EVERY_MS);
}
