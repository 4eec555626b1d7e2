/**
 * `npm version` runs it: the section Unreleased of CHANGELOG.md becomes the entry of package.json's new version. First it runs with
 * `--check`, which only checks that the section has an entry.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const HEADING = '## Unreleased\n';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const [, after = ''] = changelog.split(HEADING);
if (after.split(/^## /m)[0].trim() === '') {
  console.error(
    "CHANGELOG.md has nothing under '## Unreleased': say there what users of the version notice.",
  );
  process.exit(1);
}
if (process.argv[2] === '--check') process.exit(0);
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changelog.replace(HEADING, `${HEADING}\n## ${version} (${today})\n`));
