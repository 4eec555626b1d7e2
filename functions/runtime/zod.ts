import { config } from 'zod/mini';
import en from 'zod/v4/locales/en.js';

export * from 'zod/mini';

/**
 * Zod for each schema of the processes: its smaller variant, with its English messages. By default each schema compiles a parser of
 * its own when it is used first, which a process that starts for one event does not earn back.
 */
config({ ...en(), jitless: true });
