/** CHANGELOG.md in the form of keepachangelog.com: what is to come stands under this heading. */
export const UNRELEASED = '## Unreleased';

export interface Released {
  /** CHANGELOG.md with the new version, and nothing to come. */
  readonly changelog: string;
  /** What stood there: the notes of this release. */
  readonly notes: string;
}

/** What was to come becomes a version of this day (2026-11-21). Throws when nothing was written down. */
export function releaseChangelog(changelog: string, version: string, day: string): Released {
  const [before, rest] = split(changelog, `${UNRELEASED}\n`);
  if (rest === undefined) throw new Error(`CHANGELOG.md has no '${UNRELEASED}'`);
  const end = rest.search(/^## /m);
  const notes = (end < 0 ? rest : rest.slice(0, end)).trim();
  const older = end < 0 ? '' : `\n${rest.slice(end)}`;
  if (notes === '')
    throw new Error(`CHANGELOG.md says nothing under '${UNRELEASED}': what is it that is released?`);
  return { changelog: `${before}${UNRELEASED}\n\n## ${version} (${day})\n\n${notes}\n${older}`, notes };
}

function split(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + at.length)];
}
