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

type Unit = readonly [suffix: string, amount: Amount];
/** The units that people read, the greatest first. */
const BYTES: readonly Unit[] = [...Object.entries(BINARY).toReversed(), ['', NANO]];
const CPU: readonly Unit[] = [
  ['', NANO],
  ['m', MILLI],
];
const COUNT: readonly Unit[] = [['', NANO]];

/**
 * The units of a quota's key, or of a resource. With a domain it is a count, whatever its name is (volcano.sh/vgpu-memory: an extended
 * resource is a whole number), but for what the claims of a storage class hold.
 */
function unitsOf(key: string): readonly Unit[] {
  if (key.includes('/')) return OF_STORAGE_CLASS.test(key) ? BYTES : COUNT;
  if (/(^|\.)(memory|(ephemeral-)?storage)$|hugepages-/.test(key)) return BYTES;
  return /(^|\.)cpu$/.test(key) ? CPU : COUNT;
}

const OF_STORAGE_CLASS = /\.storageclass\.storage\.k8s\.io\/requests\.storage$/;

/** The exact amount of a key, for programs: bytes with a binary suffix where that is whole ("1500Mi"), anything else as formatQuantity. */
export function formatAmount(key: string, amount: Amount): string {
  const units = unitsOf(key);
  const whole = units === BYTES && amount !== 0n ? units.find(([, unit]) => amount % unit === 0n) : undefined;
  return whole === undefined ? formatQuantity(amount) : `${String(amount / whole[1])}${whole[0]}`;
}

const SIGNIFICANT_DIGITS = 3;
/** An exact figure that is no longer than that is what its author wrote: "1500Mi", "2605m". */
const MAX_EXACT = 10_000n;

/**
 * Describes an amount of a key to people, in the unit that fits: exact in up to four digits, else rounded up to three significant ones
 * ("647Mi", "3.37Gi"), so that giving as much is enough. Counts are exact.
 */
export function describeQuantity(key: string, amount: Amount): string {
  const units = unitsOf(key);
  const exact = units.find(([, unit]) => amount % unit === 0n);
  if (exact !== undefined && (units === COUNT || amount / exact[1] < MAX_EXACT))
    return amount === 0n ? '0' : `${String(amount / exact[1])}${exact[0]}`;
  const fitting = units.find(([, unit]) => amount >= unit);
  return fitting === undefined ? formatQuantity(amount) : roundedUp(amount, fitting);
}

function roundedUp(amount: Amount, [suffix, unit]: Unit): string {
  const places = Math.max(0, SIGNIFICANT_DIGITS - String(amount / unit).length);
  const parts = 10n ** BigInt(places);
  const count = divideUp(amount * parts, unit);
  const fraction = places === 0 ? '' : String(count % parts).padStart(places, '0');
  return `${String(count / parts)}${`.${fraction}`.replace(/\.?0*$/, '')}${suffix}`;
}

/** Describes an amount that is written as a quantity to people. Any other text stays as it is. */
export const describeAmountText = (key: string, text: string): string =>
  isHardQuantity(text) ? describeQuantity(key, parseQuantity(text)) : text;

/** Describes written amounts to people: ["requests.cpu=600m", "requests.memory=647Mi"]. */
export const describeAmounts = (amounts: Readonly<Record<string, string>>): string[] =>
  Object.entries(amounts).map(([key, text]) => `${key}=${describeAmountText(key, text)}`);

/** Rounds an amount of a key up to what a person would write: whole Mi, tens of m. */
export function roundForPeople(key: string, amount: Amount): Amount {
  const units = unitsOf(key);
  const grain = units === BYTES ? MEBI : units === CPU ? 10n * MILLI : NANO;
  return divideUp(amount, grain) * grain;
}

const MEBI = BINARY['Mi'] ?? NANO;
