/** The kubectl plugin `kubectl vmmrq` (docs/maintenance.md). */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runProgram } from './program.ts';
import { EXIT } from './subcommand.ts';
import { Terminal } from './terminal/terminal.ts';

// Garbage is collected early: preflight of 10,000 VMs takes 240 MiB instead of 416, for half as much CPU time again (docs/scale.md).
for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=15']) setFlagsFromString(flag);

// `kubectl vmmrq status | head`: the reader ends first, and does not get the whole answer.
process.stdout.on('error', () => process.exit(EXIT.unknown));
process.exitCode = await runProgram(process.argv.slice(2), new Terminal(process));
