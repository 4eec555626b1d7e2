import { EVENT_MS, newListener } from './host/server.ts';
import { serve } from './server/serve.ts';
import { reachApiServer } from './kubernetes/api-server.ts';
import { describeError } from './kubernetes/errors.ts';
import { newLog } from './runtime/log.ts';
import { readSettings } from './runtime/settings.ts';
import { functionFor } from './registry.ts';

/** How long running steps may take to end; those of `live` take the longest. */
const MAX_STEP_MS = 20_000;

/** Serves one step (STEP), or all of them, in one process. */
async function main(): Promise<void> {
  const settings = readSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: settings.STEP ?? 'functions' });
  const { handle, names, drain } = await functionFor({
    cluster: await reachApiServer(settings),
    settings,
    log,
  });
  const { port, close } = await serve({
    listener: newListener(handle, log),
    port: settings.PORT,
    requestMs: EVENT_MS,
    drainMs: MAX_STEP_MS,
  });
  log('info', 'serving', { port, steps: names });

  const stop = async (): Promise<void> => {
    await close();
    await drain();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
}

main().catch((error: unknown) => {
  process.stderr.write(`cannot start: ${describeError(error)}\n`);
  process.exit(1);
});
