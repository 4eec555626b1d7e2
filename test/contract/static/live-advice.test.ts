import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The only place of advice about a VM that moves: each of its texts is tied to a proof. */
const PROVED = 'functions/live/guest/advice.ts';
const CODE = globSync('functions/{live,domain/live}/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });

/**
 * A sentence, or a part of one, that tells its reader to start, stop, restart or delete something, or to bring about where a VM runs: who
 * shall see that it runs in one place stops it in the other.
 */
const ADVICE =
  /(?:^|[:;,.(] |\b(?:and|or|then|please|so|must|to) )(?:start|stop|halt|restart|reboot|delete|shut down|power off)\b(?!s|ed|ing)[^.;:]*|\bset (?:it|them|the \S+ .*?) to (?:Halted|Always|Manual)\b|\bvirtctl (?:start|stop|restart)\b|\bkubectl (?:delete|patch) vmi?\b|\b(?:see|check|make sure|ensure) that [^.;:,]*\b(?:runs?|is (?:off|down|up|on))\b[^.;:]*|\b(?:leave|keep|let) [^.;:,]*\b(?:off|down|run)\b/gi;

/** Such texts about anything but a VM that moves, or that only say what may happen. */
const OTHERS: readonly string[] = [
  // A VMIM, a Job, a ConfigMap or a disk that has the name of one of the run.
  'delete it, and run the plan again',
  'delete it, and run the ',
  'delete it there if nothing uses it',
  'delete it there if no VM has it',
  // Copies of Secrets and the like that other VMs use by now.
  'Delete by hand what nothing uses',
  // Pods of KubeVirt, and this project.
  'see that it runs there, and that no annotation node-labeller',
  'check that virt-synchronization-controller runs there',
  'see that managed-tenant-quota runs on that cluster',
  // A VM that no run moves: of another one nothing else is shown (functions/live/findings/candidates.ts).
  'while no run moves it',
  'while no run moves them',
  // The VM on the target, once its guest has arrived.
  'restart it there, with NextCrashHalts',
  'restart them there, those with NextCrashHalts',
  // KubeVirt, not a user.
  'or restart, because',
  'to start',
  'to halt the VM',
];

/** The texts of a file, without its comments. */
function textsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g)].map(
    ([, one, other, third]) => one ?? other ?? third ?? '',
  );
}

const adviceIn = (file: string): string[] =>
  textsOf(read(file))
    .filter((text) => text.includes(' '))
    .flatMap((text) => text.match(ADVICE) ?? []);

const isOfOther = (advice: string): boolean => OTHERS.some((other) => advice.includes(other));

test('no message but the proved ones advises to start, stop or delete a VM', () => {
  const found = CODE.filter((file) => file !== PROVED).flatMap((file) =>
    adviceIn(file)
      .filter((advice) => !isOfOther(advice))
      .map((advice) => `${file}: ${advice}`),
  );
  expect(found).toEqual([]);
});

test('it is seen where it is', () => {
  expect(adviceIn(PROVED).length).toBeGreaterThan(3);
});

test('each exception is needed', () => {
  const all = CODE.filter((file) => file !== PROVED).flatMap(adviceIn);
  expect(OTHERS.filter((other) => !all.some((advice) => advice.includes(other)))).toEqual([]);
});
