/** `npm version` runs it, first with `--check`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const USAGE = `Usage: node hack/changelog.mjs [--check]

Makes the section Unreleased of CHANGELOG.md the entry of package.json's version.

  --check     only check that the section has an entry
  -h, --help  display this
`;

function readFlags() {
  try {
    const { values } = parseArgs({
      options: { check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
    return values;
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

const { check, help } = readFlags();
if (help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
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
if (check) process.exit(0);
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changelog.replace(HEADING, `${HEADING}\n## ${version} (${today})\n`));
