/**
 * Exact amounts. An Amount counts billionths (nano) of the unit: Kubernetes' finest grain, so that no quantity it stores
 * is ever rounded here (client-node's own conversion goes through `number`; docs/adr/0023).
 */
export type Amount = bigint;

const NANO = 1_000_000_000n;

const DECIMAL: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  '': NANO,
  k: NANO * 10n ** 3n,
  M: NANO * 10n ** 6n,
  G: NANO * 10n ** 9n,
  T: NANO * 10n ** 12n,
  P: NANO * 10n ** 15n,
  E: NANO * 10n ** 18n,
};

const BINARY: Readonly<Record<string, bigint>> = Object.fromEntries(
  ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, NANO * 1024n ** BigInt(index + 1)]),
);

const MAX_EXPONENT = 1_000n;

/** Matches up to a hundred characters: a VM of a remote cluster may have megabytes of digits, whose value takes minutes. Kubernetes stores up to thirty. */
const FORM = /^(?=.{1,100}$)([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE])([+-]?\d{1,18})|([numkMGTPE]|[KMGTPE]i)?)$/;

/** Thrown for a text that is no quantity by Kubernetes' grammar (apimachinery, resource.ParseQuantity). */
export class MalformedQuantity extends Error {
  override readonly name = 'MalformedQuantity';
}

/**
 * The exact value of a Kubernetes quantity ("1405m", "2Gi", "1e3", ".5"). What is finer than a billionth is rounded
 * away from zero, as Kubernetes does. Throws MalformedQuantity.
 */
export function parseQuantity(text: string): Amount {
  const match = FORM.exec(text);
  if (match === null) throw new MalformedQuantity(`'${text}' is no quantity`);
  const [, sign, digits = '', exponentMark, exponent = '0', suffix = ''] = match;
  const unit = exponentMark === undefined ? unitOf(suffix) : NANO;
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = exponentOf(exponent) - BigInt(fraction.length);
  const value = BigInt(`${whole}${fraction}`) * unit;
  const scaled = shift >= 0n ? value * 10n ** shift : divideUp(value, 10n ** -shift);
  return sign === '-' ? -scaled : scaled;
}

/** Kubernetes counts it in 32 bits (resource.ParseQuantity); beyond a thousand nothing that is counted differs. */
function exponentOf(text: string): bigint {
  const exponent = BigInt.asIntN(32, BigInt(text));
  if (exponent > MAX_EXPONENT) return MAX_EXPONENT;
  return exponent < -MAX_EXPONENT ? -MAX_EXPONENT : exponent;
}

const unitOf = (suffix: string): bigint => BINARY[suffix] ?? DECIMAL[suffix] ?? NANO;

/** Whether a text is a quantity that a quota may have: well-formed and not negative. */
export function isHardQuantity(text: string): boolean {
  return FORM.test(text) && !text.startsWith('-');
}

/** The same amount, however it is written. A text that is no quantity equals only itself. */
export function sameQuantity(one: string, other: string): boolean {
  if (one === other) return true;
  return FORM.test(one) && FORM.test(other) && parseQuantity(one) === parseQuantity(other);
}

/** Whether one text is a greater amount than the other; false where either is no quantity. */
export const isMore = (one: string, other: string): boolean =>
  FORM.test(one) && FORM.test(other) && parseQuantity(one) > parseQuantity(other);

const MILLI = NANO / 1_000n;

/**
 * What the API server stores of an amount in a pod or a quota: whole thousandths, rounded up (kubernetes
 * pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList).
 */
export const roundToStored = (amount: Amount): Amount => divideUp(amount, MILLI) * MILLI;

/** No more than the API server stores: it cuts off at 2^63-1 (apimachinery, resource.ParseQuantity). */
export const atMostStored = (amount: Amount): Amount => (amount > MOST ? MOST : amount);

const MOST: Amount = (2n ** 63n - 1n) * NANO;

const divideUp = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;

/** The shortest exact text without a binary suffix: "3614838784", "2605m". The API server makes it canonical. */
export function formatQuantity(amount: Amount): string {
  for (const [suffix, unit] of [
    ['', NANO],
    ['m', 1_000_000n],
    ['u', 1_000n],
  ] as const) {
    if (amount % unit === 0n) return `${String(amount / unit)}${suffix}`;
  }
  return `${String(amount)}n`;
}

/** Describes an amount to people: bytes with a binary suffix where that is exact ("1500Mi"), anything else as formatQuantity. */
export function describeQuantity(key: string, amount: Amount): string {
  if (!/memory|storage|hugepages/.test(key)) return formatQuantity(amount);
  for (const suffix of ['Gi', 'Mi', 'Ki']) {
    const unit = BINARY[suffix] ?? NANO;
    if (amount !== 0n && amount % unit === 0n) return `${String(amount / unit)}${suffix}`;
  }
  return formatQuantity(amount);
}
