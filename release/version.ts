/** What a release is asked to be: one step of the version now, or a version. */
const STEPS = ['major', 'minor', 'patch'] as const;

/**
 * The version that is released (semver.org): the one now, which no release has been made of yet, or a later one. Throws when it
 * is none, or an earlier one.
 */
export function nextVersion(now: string, wanted: string): string {
  const parts = partsOf(now);
  if (parts === undefined) throw new Error(`${now} is no version`);
  const step = STEPS.findIndex((name) => name === wanted);
  if (step >= 0) return parts.map((part, at) => (at < step ? part : at === step ? part + 1 : 0)).join('.');
  const asked = partsOf(wanted);
  if (asked === undefined)
    throw new Error(`${wanted} is none of ${STEPS.join(', ')} and no version like 1.2.3`);
  if (isAfter(parts, asked)) throw new Error(`${wanted} comes before ${now}`);
  return wanted;
}

function partsOf(version: string): number[] | undefined {
  return /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version) ? version.split('.').map(Number) : undefined;
}

function isAfter(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
}

interface Versioned {
  version: string;
  readonly packages?: Readonly<Record<string, { version: string }>>;
}

/** The text of package.json, or of package-lock.json, which says it twice, with this version. */
export function withVersion(text: string, version: string): string {
  const file = JSON.parse(text) as Versioned;
  file.version = version;
  const top = file.packages?.[''];
  if (top !== undefined) top.version = version;
  return `${JSON.stringify(file, undefined, 2)}\n`;
}
