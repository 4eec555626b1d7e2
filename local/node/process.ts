import { readFileSync } from 'node:fs';
import { USER } from '../../image/root-filesystem.ts';

/** What the kernel says of a process. */
export interface KernelsView {
  readonly uid: number;
  readonly rssMiB: number;
  /** What is not as restricted as the manifests say; empty when all of it is. */
  readonly liberties: readonly string[];
}

export const lookAt = (pid: number): KernelsView =>
  viewOf(readFileSync(`/proc/${pid}/status`, 'utf8'), readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));

/** By /proc/<pid>/status and /proc/<pid>/mountinfo (man 5 proc). */
export function viewOf(status: string, mountinfo: string): KernelsView {
  const line = (key: string): string => new RegExp(`^${key}:\\s*(.*?)\\s*$`, 'm').exec(status)?.[1] ?? '';
  const everyIs = (key: string, id: number): boolean =>
    line(key)
      .split(/\s+/)
      .every((each) => each === String(id));
  const root = mountinfo
    .split('\n')
    .map((mount) => mount.split(' '))
    .find(([, , , , point]) => point === '/');
  const rules: Readonly<Record<string, boolean>> = {
    [`user is ${line('Uid')}`]: everyIs('Uid', USER),
    [`group is ${line('Gid')}`]: everyIs('Gid', USER),
    [`capabilities are ${line('CapEff')} of ${line('CapBnd')}`]:
      /^0+$/.test(line('CapEff')) && /^0+$/.test(line('CapBnd')),
    'it may gain privileges': line('NoNewPrivs') === '1',
    // 2: a filter.
    'no seccomp filter': line('Seccomp') === '2',
    'its root can be written': root?.[5]?.split(',').includes('ro') === true,
  };
  return {
    uid: Number(line('Uid').split(/\s+/)[0]),
    rssMiB: Number.parseInt(line('VmRSS'), 10) / 1024,
    liberties: Object.entries(rules).flatMap(([what, kept]) => (kept ? [] : [what])),
  };
}
