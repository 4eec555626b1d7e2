import { shown } from '../../functions/domain/foreign-text.ts';
import { formatAmount } from '../../functions/domain/quantity.ts';
import { VERDICT_STYLE } from '../terminal/verdict-style.ts';
import { renderTable, type Cell, type Paint } from '../terminal/table.ts';
import type { KeyArithmetic } from './arithmetic.ts';
import type { Explanation } from './explanation.ts';

/** Renders the verdict, the advice, and the arithmetic for people: the lines. */
export function renderExplanation(explanation: Explanation, paint: Paint): string[] {
  const { namespace, migration, vmi, phase, purpose, verdict, reason, message, advice, keys } = explanation;
  const of = [`VMI ${shown(vmi)}`, shown(phase), ...(purpose === undefined ? [] : [`for ${purpose}`])].join(
    ', ',
  );
  return [
    `Migration:  ${namespace}/${migration} (${of})`,
    `Verdict:    ${paint(VERDICT_STYLE[verdict], verdict)} (${reason})`,
    `            ${message}`,
    ...(advice === '' ? [] : [`To free it: ${advice}`]),
    ...giversOf(explanation),
    ...(keys.length === 0 ? [] : ['', ...renderKeys(keys, paint)]),
  ];
}

function giversOf({ vmmrqs, keys }: Explanation): string[] {
  if (keys.length === 0) return [];
  if (vmmrqs.length === 0) return ['VMMRQs:     none'];
  const texts = vmmrqs.map(({ name, gives }) => `${name} (${gives ? 'gives' : 'gives nothing to it'})`);
  return [`VMMRQs:     ${texts.join(', ')}`];
}

const HEADERS = ['QUOTA', 'KEY', 'HARD', 'USED', 'EARLIER', 'NEEDED', 'MISSING', 'GIVEN', 'BY'] as const;

const renderKeys = (keys: readonly KeyArithmetic[], paint: Paint): string[] =>
  renderTable(HEADERS, keys.map(rowOf), paint);

function rowOf({ key, missing, given, givenBy, ...amounts }: KeyArithmetic): Cell[] {
  const text = (amount: bigint): string => formatAmount(key, amount);
  const style = missing > given ? 'red' : missing > 0n ? 'yellow' : 'green';
  return [
    amounts.quota,
    key,
    ...[amounts.hard, amounts.used, amounts.earlier, amounts.needed].map(text),
    { text: text(missing), style },
    text(given),
    givenBy
      .map(({ vmmrq, amount }) => (givenBy.length === 1 ? vmmrq : `${vmmrq} ${text(amount)}`))
      .join(', '),
  ];
}

/** The explanation for -o, with amounts as quantities. */
export const plainExplanation = ({ keys, ...explanation }: Explanation): object => ({
  ...explanation,
  keys: keys.map(({ givenBy, quota, key, ...amounts }) => ({
    quota,
    key,
    ...Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatAmount(key, amount)])),
    givenBy: givenBy.map(({ vmmrq, amount }) => ({ vmmrq, amount: formatAmount(key, amount) })),
  })),
});
