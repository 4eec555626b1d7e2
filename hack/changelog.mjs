/** `npm version` runs it: what CHANGELOG.md has under Unreleased becomes the entry of package.json's new version. */
import { readFileSync, writeFileSync } from 'node:fs';

const HEADING = '## Unreleased\n';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const [, after = ''] = changelog.split(HEADING);
if (after.split(/^## /m)[0].trim() === '') {
  console.error(
    "CHANGELOG.md has nothing under '## Unreleased'. Undo: git restore package.json package-lock.json",
  );
  process.exit(1);
}
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changelog.replace(HEADING, `${HEADING}\n## ${version} (${today})\n`));
