/**
 * Sets up a fresh clone: installs the dependencies (with Node 24) when package-lock.json has changed. It is plain JavaScript without
 * dependencies, so that it runs on any installed Node. In a script, `hash -r` must follow, because the shell caches the path of
 * `node`.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}node_modules/.setup-done`;
const wanted = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('· installing the dependencies of package-lock.json (npm ci), about half a minute');
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (npm.status !== 0) {
    console.error('npm ci failed: see above. It needs the npm registry.');
    process.exit(npm.status ?? 1);
  }
  writeFileSync(stamp, wanted);
}

const node = spawnSync('node', ['--version'], { encoding: 'utf8' }).stdout.trim();
if (!node.startsWith('v24.')) {
  console.error(
    `Node 24 is needed and 'node' is ${node || 'missing'}. On Linux x64 and arm64 npm installs it as an optional ` +
      'dependency (do not use --omit=optional); elsewhere install Node 24 yourself. Run this through npm, not by hand.',
  );
  process.exit(1);
}
