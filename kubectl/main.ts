#!/usr/bin/env node
/** The kubectl plugin `kubectl vmmrq` (docs/maintenance.md). */
import process from 'node:process';
import { runProgram } from './program.ts';
import { Terminal } from './terminal/terminal.ts';

// `kubectl vmmrq status | head`: the reader ends first.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2));
process.exitCode = await runProgram(process.argv.slice(2), new Terminal(process));
