import { REASON } from '../../../functions/domain/names.ts';
import { canonicalKey, type Amounts, type Shortfall } from '../../../functions/domain/quota/charged.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { exitCodeOf } from '../../../kubectl/preflight/command.ts';
import { isGiveable, type OutcomeName, type VmOutcome } from '../../../kubectl/preflight/outcome.ts';
import type { Report } from '../../../kubectl/preflight/preflight.ts';
import type { Migrated } from './migrate.ts';
import type { Refusal } from './refusal.ts';
import { keyOf, type Checked, type PreflightScene } from './scene.ts';

/** What is wrong with what preflight said; []: nothing. */
export function problemsOf(scene: PreflightScene): string[] {
  const { report, suggestion } = scene;
  if (report === undefined || suggestion === undefined) throw new Error('not decided yet');
  const stillStuck = suggestion.report.vms
    .filter(isGiveable)
    .map((vm) => `${keyOf(vm)} is stuck with the suggestion`);
  const ofVms = [...scene.checked].flatMap(([key, checked]) =>
    [...problemsOfVm(checked), ...problemsLater(checked)].map(
      (problem) => `${key}: ${problem} (${JSON.stringify(checked, asText)})`,
    ),
  );
  return [...slotProblems(report), ...unknownProblems(scene, report), ...stillStuck, ...ofVms];
}

const asText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

const isPassing = ({ outcome }: VmOutcome): boolean => outcome === 'Passes' || outcome === 'PassesInTurn';

function slotProblems({ vms, limits }: Report): string[] {
  const atOnce = vms.filter(({ outcome }) => outcome === 'Passes');
  const perNode = Map.groupBy(atOnce, ({ node }) => node);
  const crowded = [...perNode].filter(([, list]) => list.length > limits.node).map(([node]) => node);
  return [
    ...(atOnce.length > limits.cluster ? [`${String(atOnce.length)} at once in the cluster`] : []),
    ...crowded.map((node) => `too many at once from ${node}`),
  ];
}

/** Nothing is claimed of a VM that preflight cannot tell, and its exit code says so. */
function unknownProblems(scene: PreflightScene, report: Report): string[] {
  const { vms } = report;
  const unknown = vms.filter(({ outcome }) => outcome === 'CannotTell');
  const claims = unknown.filter(({ by, missing }) => by.length > 0 || missing.length > 0);
  const claimed = vms.filter((vm) => mustNotTell(scene, vm) && !SAYS_NOTHING.includes(vm.outcome));
  const isFound = vms.some(({ outcome }) => outcome === 'Stuck' || outcome === 'NotMigratable');
  const wanted = isFound ? 1 : unknown.length > 0 ? 2 : 0;
  const code = exitCodeOf(report);
  return [
    ...claims.map((vm) => `${keyOf(vm)} is unknown, and something is claimed of it`),
    ...claimed.map((vm) => `${keyOf(vm)} is unknown, and is ${vm.outcome} ${vm.reason}`),
    ...(code === wanted ? [] : [`the exit code is ${String(code)}, not ${String(wanted)}`]),
  ];
}

/** The last two by the VM alone, whatever a migration would need. */
const SAYS_NOTHING: readonly OutcomeName[] = ['CannotTell', 'NotMigratable', 'Restarted'];

/** Where no migration slot is left for ever, that is known of each VM. What is External can be updated, and migrated by hand. */
function mustNotTell(scene: PreflightScene, vm: VmOutcome): boolean {
  const unknown = scene.unknownOf(vm);
  if (unknown === 'no' || vm.reason === REASON.parallelLimit) return false;
  return unknown !== 'external eviction' || scene.of.task === 'node';
}

function problemsOfVm({ isExact, said, did, attached }: Checked): string[] {
  if (isPassing(said)) return passProblems(said, did, isExact);
  if (did.isThrough) return isExact ? ['it passes'] : [];
  return stuckProblems(said, did, isExact ? attached : undefined);
}

/** With the suggestion, a VM passes that preflight promised to pass. */
function problemsLater({ later }: Checked): string[] {
  return later === undefined || !isPassing(later.promised) || later.did.isThrough
    ? []
    : ['it does not pass with the suggestion'];
}

function passProblems({ by }: VmOutcome, did: Migrated, isExact: boolean): string[] {
  if (!did.isThrough) return ['it does not pass'];
  const isSame = [...by].sort().join() === [...did.by].sort().join();
  return isExact && !isSame ? [`it passes by ${did.by.join() || 'nothing'}`] : [];
}

/** Texts of refusals that are not about an amount, by reason. */
const TEXTS: Readonly<Record<string, RegExp>> = {
  [REASON.mustSpecify]: /failed quota: .*must specify/,
  [REASON.limitRange]:
    /(maximum|minimum) \S+ usage per|max limit to request ratio|must be less than or equal to/,
};

/** `attached`: what quotas charge for the attachment pods of the VM; undefined: the sizes are not exact. */
function stuckProblems(
  { reason, missing }: VmOutcome,
  did: Migrated,
  attached: Amounts | undefined,
): string[] {
  if (reason === REASON.volumeQuota) return did.lacks === 'claim' ? [] : ['not its claim is refused'];
  const form = TEXTS[reason];
  const { text, quota: refusing, missing: real } = did.refusal ?? NO_REFUSAL;
  if (form !== undefined) return form.test(text) ? [] : ['it is refused for something else'];
  const quota = missing.find((each) => each.quota === refusing);
  if (quota === undefined) return ['it is refused by another quota'];
  if (attached === undefined) return [];
  return amountProblems(quota.shortfalls, real, did.lacks === 'launcher' ? attached : new Map());
}

const NO_REFUSAL: Pick<Refusal, 'text' | 'quota' | 'missing'> = { text: '', missing: [] };

/** KubeVirt rounds the overhead of a launcher up to whole bytes, and preflight what it grows by: for each VM a byte or two. */
const ROUNDING = parseQuantity('16');

/** Every key that the API server names, and each amount: of the refused pod, and of those that come after it. */
function amountProblems(said: readonly Shortfall[], real: readonly Shortfall[], later: Amounts): string[] {
  const keys = (list: readonly Shortfall[]): string =>
    list
      .map(({ key }) => key)
      .toSorted()
      .join();
  // A LimitRange may have filled in more than the source's attachment pod has.
  const isOfLater = ({ key }: Shortfall): boolean => later.size > 0 && !real.some((each) => each.key === key);
  if (keys(said.filter((each) => !isOfLater(each))) !== keys(real))
    return [`the API server names ${keys(real)}`];
  return said.flatMap((each) => {
    const { key, missing } = each;
    if (isOfLater(each)) return [];
    const counted = real.find((one) => one.key === key)?.missing ?? 0n;
    // A quota may cover the refused pod alone.
    const isBoth = missing - counted === later.get(canonicalKey(key));
    const more = isBoth ? 0n : missing - counted;
    const isRounded = /memory/.test(key) && more >= 0n && more <= ROUNDING;
    return more === 0n || isRounded ? [] : [`the API server counts ${key}=${String(counted)}`];
  });
}
