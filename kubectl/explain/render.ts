import { shown } from '../../functions/domain/foreign-text.ts';
import { describeQuantity, formatAmount } from '../../functions/domain/quantity.ts';
import { VERDICT_STYLE } from '../terminal/verdict-style.ts';
import { renderTable, type Cell, type Sheet, type Style } from '../terminal/table.ts';
import type { KeyArithmetic } from './arithmetic.ts';
import type { Explanation } from './explanation.ts';

/** Renders the verdict, the advice, and the arithmetic for people: the lines. */
export function renderExplanation(explanation: Explanation, sheet: Sheet): string[] {
  const { paint } = sheet;
  const { namespace, migration, vmi, phase, purpose, verdict, reason, message, advice, keys } = explanation;
  const of = [`VMI ${shown(vmi)}`, shown(phase), ...(purpose === undefined ? [] : [`for ${purpose}`])].join(
    ', ',
  );
  return [
    `Migration:  ${namespace}/${migration} (${of})`,
    `Verdict:    ${paint(VERDICT_STYLE[verdict], reason)}`,
    `            ${message}`,
    ...(advice === '' ? [] : [`To free it: ${advice}`]),
    ...giversOf(explanation),
    ...(keys.length === 0 ? [] : ['', ...renderKeys(keys, sheet)]),
  ];
}

function giversOf({ vmmrqs, keys }: Explanation): string[] {
  if (keys.length === 0) return [];
  if (vmmrqs.length === 0) return ['VMMRQs:     none'];
  const texts = vmmrqs.map(({ name, gives }) => `${name} (${gives ? 'gives' : 'gives nothing to it'})`);
  return [`VMMRQs:     ${texts.join(', ')}`];
}

/** The amounts of a key that are always shown. */
const AMOUNTS = ['hard', 'used', 'needed', 'missing', 'given'] as const;

/** A row for each key. With -o wide the amounts are exact; else what is the same in each row is left out. */
function renderKeys(keys: readonly KeyArithmetic[], sheet: Sheet): string[] {
  const { isWide } = sheet;
  const hasEarlier = isWide || keys.some(({ earlier }) => earlier > 0n);
  const hasGivers = isWide || keys.some(({ givenBy }) => givenBy.length > 1);
  const amounts = AMOUNTS.flatMap((name) =>
    name === 'needed' && hasEarlier ? (['earlier', name] as const) : [name],
  );
  const headers = [
    'QUOTA',
    'KEY',
    ...amounts.map((name) => name.toUpperCase()),
    ...(hasGivers ? ['BY'] : []),
  ];
  const describe = isWide ? formatAmount : describeQuantity;
  const rows = keys.map((each): Cell[] => {
    const text = (amount: bigint): string => describe(each.key, amount);
    const by = each.givenBy.map(({ vmmrq, amount }) =>
      each.givenBy.length === 1 ? vmmrq : `${vmmrq} ${text(amount)}`,
    );
    return [
      ...[each.quota, each.key],
      ...amounts.map((name) =>
        name === 'missing' ? { text: text(each.missing), style: styleOf(each) } : text(each[name]),
      ),
      ...(hasGivers ? [by.join(', ')] : []),
    ];
  });
  return renderTable(headers, rows, sheet);
}

const styleOf = ({ missing, given }: KeyArithmetic): Style =>
  missing > given ? 'red' : missing > 0n ? 'yellow' : 'green';

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
