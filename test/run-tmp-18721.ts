import * as runs from '/tmp/wt/adversary/test/adversary/runs.ts';
import { runAdversary } from '/tmp/wt/adversary/test/adversary/adversary.ts';
import { tableOf } from '/tmp/wt/adversary/test/adversary/table.ts';
import { breaches } from '/tmp/wt/adversary/test/integration/support/invariants.ts';
import { cpSync } from 'node:fs';
const [, , name = 'BASE', n = '4', settle] = process.argv;
const run = (runs as any)[name];
const t = performance.now();
console.log('slot at', new Date().toISOString());
process.on('unhandledRejection', (e) => {
  console.log('unhandled', e);
});
const { lab, result } = await runAdversary(
  settle === undefined ? run : { ...run, settleMs: Number(settle), name: run.name + ' settle ' + settle },
  { wall: runs.WALLS['as installed'], releases: Number(n), withinMs: 30_000 },
);
console.log('whole', performance.now() - t);
console.log(tableOf(result));
console.log('never', result.report.never);
for (const a of result.attacked) {
  console.log(
    a.tenant.name,
    a.releases.map((r) => `${r.migration}:${r.isThrough}:${Math.round(r.ms)}:${r.locks}`).join(' '),
  );
  console.log(breaches(a.tenant.history).slice(0, 5));
}
if (process.env.KEEP)
  cpSync(lab.cluster.controlPlane.folder, process.env.KEEP, {
    recursive: true,
    filter: (s) => !s.endsWith('.sock'),
  });
await lab.stop();
process.exit(0);
