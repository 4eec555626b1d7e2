import { jest, test } from '@jest/globals';
import { expectPreflightIsRight } from '../../support/preflight/check-seeds.ts';

/* PREFLIGHT_FIRST and PREFLIGHT_SEEDS choose other seeds. */
const SEEDS = {
  first: Number(process.env['PREFLIGHT_FIRST'] ?? 1),
  count: Number(process.env['PREFLIGHT_SEEDS'] ?? 150),
};

jest.setTimeout(3_600_000);

test(`what preflight says is what happens, in ${String(SEEDS.count)} random clusters`, () =>
  expectPreflightIsRight(SEEDS));
