import { beforeAll, expect, jest, test } from '@jest/globals';
import { crashAfter } from '../world/calls.ts';
import { CRASH_HITS } from '../world/crashes.ts';
import { DISTURBANCES, USERS } from '../world/disturbances.ts';
import { FAILING_COPY_HITS } from '../world/failing-copies.ts';
import { HOOK_HITS } from '../world/hooks.ts';
import { HUB_USER_HITS } from '../world/hub-users.ts';
import { simulateLive, type LiveSummary } from '../seeds/pool.ts';
import { EDIT, ENDLESS_DRAIN, NAMESPACE, OWNER, VMI_DELETED } from '../world/seldom.ts';
import { POST_COPY_HITS } from '../world/post-copy.ts';
import { SERVER_HITS } from '../world/servers.ts';
import { SLOW_NODE_HITS } from '../world/slow-nodes.ts';

const RUNS = 300;
const IS_WRITE = /^(?:create|replace|delete) /;
// They only compute, as those of the protocol.
jest.setTimeout(30 * 60_000);

let summary: LiveSummary;
beforeAll(async () => {
  summary = await simulateLive({ from: 1, count: RUNS });
});

test('no run breaks a rule; npm run simulate:live -- --trace --seed N shows one', () => {
  expect(summary.violations).toEqual([]);
  expect(summary.runs).toBe(RUNS);
});

test('many guests move, and many do not', () => {
  expect(summary.moved).toBeGreaterThan(RUNS / 5);
  expect(summary.moved).toBeLessThan((3 * RUNS) / 4);
});

test('everything that can happen happens', () => {
  const wanted = [
    'crash',
    'refused',
    NAMESPACE,
    OWNER,
    EDIT,
    VMI_DELETED,
    ENDLESS_DRAIN,
    ...HOOK_HITS,
    ...SERVER_HITS,
    ...HUB_USER_HITS,
    ...POST_COPY_HITS,
    ...SLOW_NODE_HITS,
    ...FAILING_COPY_HITS,
    ...CRASH_HITS,
    ...Object.keys(DISTURBANCES),
    ...Object.keys(USERS),
  ];
  expect(wanted.filter((hit) => !summary.hits.has(hit))).toEqual([]);
});

test('a process goes after every kind of write that is not rare', () => {
  const written = [...summary.hits].filter(([hit, times]) => IS_WRITE.test(hit) && times >= RUNS / 5);
  expect(written.length).toBeGreaterThan(10);
  expect(written.map(([write]) => write).filter((write) => !summary.hits.has(crashAfter(write)))).toEqual([]);
});
