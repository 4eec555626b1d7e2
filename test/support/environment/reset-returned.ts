import type * as kept from './kept.ts';
import { importOutside } from './outside.ts';

// Runs before each test file is loaded (jest.config.js, setupFiles).
void importOutside<typeof kept>(new URL('kept.ts', import.meta.url)).then(({ resetReturned }) =>
  resetReturned(),
);
