import { test } from '@jest/globals';
import { expectPreflightIsRight } from '../../support/preflight/check-seeds.ts';

/* preflight-property.long.test.ts has more. */
const SEEDS = { first: 1, count: 6 };

test(`what preflight says is what happens, in ${String(SEEDS.count)} random clusters`, () =>
  expectPreflightIsRight(SEEDS));
