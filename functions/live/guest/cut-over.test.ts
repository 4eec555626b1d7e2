import { describe, expect, test } from '@jest/globals';
import { crossHistory, type Moment } from '../../../test/support/live/cross-history.ts';
import { hasArrived, hasLeft, marksOf, runsOnTarget } from './cut-over.ts';
import type { Vmi } from '../../domain/live/kubevirt.ts';

const arrived = ({ source, target }: Moment): boolean => hasArrived({ source, target, before: undefined });
const marks = ({ source, target }: Moment): string[] => marksOf({ source, target, before: undefined });

const success = crossHistory('success');

/** The marks that were seen at any moment. */
const everSeen = (moments: readonly Moment[]): string[] => [...new Set(moments.flatMap(marks))].sort();
const first = (moments: readonly Moment[], isSo: (moment: Moment) => boolean): number =>
  moments.findIndex(isSo);

describe('recorded migrations in which the guest never left the source', () => {
  test.each([
    'cancel-running',
    'cancel-source-only',
    'target-fails',
    'source-fails',
    'failed-then-source-crashes',
    'rerunonfailure-source-fails',
    'unreachable',
  ])('%s: no mark, at no moment', (name) => {
    const moments = crossHistory(name);
    expect(everSeen(moments)).toEqual([]);
    expect(moments.filter((moment) => arrived(moment) || runsOnTarget(moment.target))).toEqual([]);
  });
});

describe('recorded migrations in which the guest moved', () => {
  test.each([
    'success',
    'quota',
    'untrusted',
    'rerun',
    'rerunonfailure',
    'source-edited',
    'sync-controller-loses-lease',
    'sync-controller-loses-lease-vmim-deleted',
    'source-running-true',
    'cancel-blocked-recovered',
    'leader-change-split',
    'cancel-target-only',
  ])('%s: marked before it arrives, and it arrives before the source VM ends', (name) => {
    const moments = crossHistory(name);
    const marked = first(moments, (moment) => marks(moment).length > 0);
    const arrival = first(moments, arrived);
    const runs = first(moments, ({ target }) => runsOnTarget(target));
    expect(marked).toBeGreaterThan(0);
    expect(arrival).toBeGreaterThanOrEqual(marked);
    expect(runs).toBeGreaterThanOrEqual(arrival);
    // An arrival stays, whatever the VMIMs become.
    expect(moments.slice(arrival).every(arrived)).toBe(true);
    expect(moments.slice(marked).every((moment) => marks(moment).length > 0)).toBe(true);
  });

  test('the target VMIM deleted, and both sides of its state cleared: the source proves the arrival', () => {
    const last = crossHistory('cancel-target-only').at(-1);
    const vmi = last?.target.vmi;
    if (last === undefined || vmi === undefined) throw new Error('the recording has no such moment');
    const { sourceState: _s, targetState: _t, ...migrationState } = vmi.status?.migrationState ?? {};
    const target = { ...last.target, vmi: { ...vmi, status: { ...vmi.status, migrationState } } };
    expect(hasArrived({ source: last.source, target, before: undefined })).toBe(true);
    const ofAnother = { ...migrationState, migrationUid: 'uid-of-a-local-one' };
    const moved = { ...target, vmi: { ...vmi, status: { ...vmi.status, migrationState: ofAnother } } };
    expect(hasArrived({ source: last.source, target: moved, before: undefined })).toBe(false);
  });

  describe('without a sign that the guest was active there (kubevirt#17261)', () => {
    const last = success.findLast(({ target }) => target.vmim?.status?.phase === 'Succeeded');
    const unready = (vmi: Vmi | undefined): Vmi | undefined => {
      const {
        targetNodeDomainReadyTimestamp: _,
        targetState = {},
        ...state
      } = vmi?.status?.migrationState ?? {};
      const { domainReadyTimestamp: _ready, ...side } = targetState;
      return vmi && { ...vmi, status: { ...vmi.status, migrationState: { ...state, targetState: side } } };
    };
    const moment = (): Moment => {
      if (last === undefined) throw new Error('the recording has no such moment');
      return last;
    };

    test('a VMIM that has succeeded is no arrival, but a mark', () => {
      const { source, target } = moment();
      const sides = {
        source: { vmi: unready(source.vmi), vmims: [] },
        target: { ...target, vmi: unready(target.vmi) },
        before: undefined,
      };
      expect(hasArrived(sides)).toBe(false);
      expect(marksOf(sides)).toContain('Received');
      expect(hasArrived({ ...sides, wasReady: true })).toBe(true);
    });

    test('the source’s word that it was is enough', () => {
      const { source, target } = moment();
      const sent = success.findLast((each) => each.source.vmi !== undefined)?.source ?? source;
      const sides = { source: sent, target: { ...target, vmi: undefined }, before: undefined };
      expect(hasArrived(sides)).toBe(true);
    });
  });

  test('a VMIM that KubeVirt failed because it cleared the state: its uid proves the arrival', () => {
    const last = success.at(-1);
    const { vmi, vmim } = last?.target ?? {};
    if (last === undefined || vmi === undefined || vmim === undefined)
      throw new Error('the recording has no such moment');
    const { sourceState: _s, targetState: _t, ...migrationState } = vmi.status?.migrationState ?? {};
    const target = {
      ...last.target,
      vmi: { ...vmi, status: { ...vmi.status, migrationState } },
      vmim: { ...vmim, status: { ...vmim.status, phase: 'Failed' } },
    };
    const sides = { source: { vmi: undefined, vmims: [] }, before: undefined };
    expect(hasArrived({ ...sides, target })).toBe(true);
    expect(hasArrived({ ...sides, target: { ...target, vmim: undefined } })).toBe(false);
  });

  test('a local migration has replaced the state of the VMI on the source: its VMIM still says that the guest left', () => {
    const sent = success.findLast(
      ({ source: { vmi, vmim } }) => vmi !== undefined && vmim?.status?.phase === 'Succeeded',
    );
    const { vmi, vmims = [] } = sent?.source ?? {};
    if (vmi === undefined) throw new Error('the recording has no such moment');
    const migrationState = { migrationUid: 'uid-of-a-local-one', completed: true };
    const source = { vmi: { ...vmi, status: { ...vmi.status, migrationState } }, vmims };
    expect(hasLeft(source, undefined)).toBe(true);
    expect(hasLeft({ ...source, vmims: [] }, undefined)).toBe(false);
    const gone = { vm: undefined, vmi: undefined, vmim: undefined };
    expect(marksOf({ source, target: gone, before: undefined })).toEqual(['GuestReady', 'Sent']);
    // Its target has died just after the arrival.
    const failed = vmims.map((vmim) => ({
      ...vmim,
      status: { ...vmim.status, migrationState: { ...vmim.status?.migrationState, failed: true } },
    }));
    expect(marksOf({ source: { ...source, vmims: failed }, target: gone, before: undefined })).toEqual([
      'GuestReady',
    ]);
  });

  test('every mark but PostCopy is seen in them', () => {
    expect(everSeen(crossHistory('success'))).toEqual([
      'GuestReady',
      'NotWaiting',
      'Received',
      'Sent',
      'StrategyRestored',
    ]);
  });

  test('the target VMIM deleted while it runs: the guest arrives all the same, without a mark on the source', () => {
    const moments = crossHistory('cancel-target-only');
    const last = moments.at(-1);
    expect(last?.target.vmim).toBeUndefined();
    expect(last?.source).toMatchObject({
      vmi: { status: { phase: 'Running' } },
      vmim: { status: { phase: 'Running' } },
    });
    expect(last === undefined ? [] : marks(last)).toContain('NotWaiting');
  });
});

describe('marksOf', () => {
  const sent = success.find(({ source }) => source.vmi?.status?.migrationState?.completed === true);

  test('what a migration before the run left on the source is no mark', () => {
    const vmi = sent?.source.vmi;
    const before = vmi?.status?.migrationState?.sourceState?.migrationUID;
    const target = { vm: undefined, vmi: undefined, vmim: undefined };
    expect(marksOf({ source: { vmi, vmims: [] }, target, before: undefined })).toEqual([
      'GuestReady',
      'Sent',
    ]);
    expect(marksOf({ source: { vmi, vmims: [] }, target, before })).toEqual([]);
  });

  test('a local migration that succeeded is no mark', () => {
    const { vmi } = sent?.source ?? {};
    const state = { ...vmi?.status?.migrationState };
    const migrationUID = state.sourceState?.migrationUID ?? '';
    const local = { ...state, targetState: { ...state.targetState, migrationUID } };
    const source = { vmi: vmi && { ...vmi, status: { ...vmi.status, migrationState: local } }, vmims: [] };
    const target = { vm: undefined, vmi: undefined, vmim: undefined };
    expect(marksOf({ source, target, before: undefined })).toEqual([]);
  });

  test.each(['source', 'target'] as const)('post-copy on the %s is one, before anything else', (side) => {
    const running = success.find(
      ({ target }) => target.vmi?.status?.migrationState?.startTimestamp !== undefined,
    );
    const vmi = running?.[side].vmi;
    if (running === undefined || vmi === undefined) throw new Error('the recording has no such moment');
    const status = { ...vmi.status, migrationState: { ...vmi.status?.migrationState, mode: 'PostCopy' } };
    const moment = { ...running, [side]: { ...running[side], vmi: { ...vmi, status } } };
    expect(marks(running)).toEqual([]);
    expect(marks(moment)).toEqual(['PostCopy']);
  });
});
