/** npm run release: checks, versions, writes the changelog, packs, commits and tags; pushes nothing (docs/release.md). */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildFromScratch, type BuiltImage } from '../image/scratch.ts';
import { temporaryFolder } from '../local/controlplane/exit.ts';
import { releaseChangelog } from './changelog.ts';
import { pack } from './pack.ts';
import { planOf, Refused, type Plan } from './plan.ts';
import { Repository, tagOf } from './repository.ts';
import { withVersion } from './version.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const read = (path: string): string => readFileSync(root + path, 'utf8');

async function release(plan: Plan): Promise<void> {
  const { version, dryRun, checks, out } = plan;
  const repository = new Repository(root);
  refuse(repository.problems(version), plan);
  const { changelog, notes } = releaseChangelog(read('CHANGELOG.md'), version, today());
  check(checks);
  const work = temporaryFolder('mtq-release-');
  try {
    const epoch = repository.epoch();
    const image = plan.built ?? work.path;
    if (plan.built === undefined)
      refuse(unpinned(await buildFromScratch({ out: image, version, epoch })), plan);
    const digest = await pack({ ...plan, changelog, epoch, image });
    say(`${out}: release ${version}, image ${digest}`);
  } finally {
    work.remove();
  }
  if (dryRun) {
    const files = 'package.json, package-lock.json and CHANGELOG.md';
    say(`· a dry run: ${files} stay as they are, no ${tagOf(version)}`);
    return;
  }
  record(repository, { version, changelog, notes });
  say(
    `${tagOf(version)} is committed and tagged; nothing is pushed (docs/release.md says what is left to do)`,
  );
}

/** Throws, in a dry run only tells, why this is not to be released. */
function refuse(problems: readonly string[], { dryRun }: Plan): void {
  if (problems.length > 0 && !dryRun) throw new Refused(problems.join('\n'));
  for (const problem of problems) say(`· would be refused: ${problem}`);
}

const unpinned = ({ platforms }: BuiltImage): string[] =>
  platforms.flatMap(({ packages }) =>
    packages.flatMap(({ name, version, pinned }) => (pinned ? [] : [`${name} ${version} is not pinned`])),
  );

function check(script: Plan['checks']): void {
  if (script === 'none') return;
  const { status } = spawnSync('npm', ['run', '--silent', script], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Refused(`npm run ${script} fails`);
}

const today = (): string => new Date().toISOString().slice(0, 10);

interface Release {
  readonly version: string;
  readonly changelog: string;
  readonly notes: string;
}

function record(repository: Repository, { version, changelog, notes }: Release): void {
  const versioned = ['package.json', 'package-lock.json'];
  for (const file of versioned) writeFileSync(root + file, withVersion(read(file), version));
  writeFileSync(`${root}CHANGELOG.md`, changelog);
  repository.commit(version, [...versioned, 'CHANGELOG.md'], notes);
}

try {
  const { version: now } = JSON.parse(read('package.json')) as { version: string };
  await release(planOf(process.argv.slice(2), { now, out: `${root}out/release` }));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
