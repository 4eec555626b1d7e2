import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { renderDefault } from '../../cluster/cluster.ts';
import { temporaryFolder, type TemporaryFolder } from '../../cluster/controlplane/exit.ts';

const run = promisify(execFile);
const root = process.cwd();
const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  scripts: Record<string, string>;
};

let folder: TemporaryFolder;
beforeAll(() => {
  folder = temporaryFolder('mtq-releasing-');
});
afterAll(() => folder.remove());

describe('npm run pack', () => {
  const IMAGE = `registry.example:5000/team/mtq@sha256:${'0123456789abcdef'.repeat(4)}`;
  const env = { ...process.env, IMAGE };
  let tree: string;
  let out: string;
  const read = (path: string): string => readFileSync(join(out, path), 'utf8');

  beforeAll(async () => {
    // Builds in a copy, because the other tests use this tree's dist.
    tree = join(folder.path, 'tree');
    out = join(folder.path, 'release');
    const left = ['node_modules', '.git', 'dist', 'out', 'coverage'].map((name) => join(root, name));
    cpSync(root, tree, { recursive: true, filter: (path) => !left.includes(path) });
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    await run('bash', ['hack/pack.sh', out], { cwd: tree, env });
  });

  test('makes the package, the manifests, the SBOM, and correct checksums', async () => {
    const sums = read('SHA256SUMS').trimEnd().split('\n');
    const files = sums.map((line) => line.replace(/^[0-9a-f]{64} {2}/, ''));
    const chart = files.filter((path) => path.startsWith('manifests/chart/'));
    expect(chart).toContain('manifests/chart/Chart.yaml');
    expect(files.filter((path) => !chart.includes(path))).toEqual([
      'kubectl-vmmrq.tar.gz',
      `managed-tenant-quota-knative-${version}.tgz`,
      'manifests/managed-tenant-quota.yaml',
      'sbom.cdx.json',
      'vmmrq.yaml',
    ]);
    await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
    const { stdout } = await run('find', ['.', '-type', 'f'], { cwd: out });
    expect(stdout.trimEnd().split('\n')).toHaveLength(files.length + 1);
  });

  test('renders config/default with this image', async () => {
    const text = JSON.stringify(parseAllDocuments(read('manifests/managed-tenant-quota.yaml')));
    const ours = JSON.stringify(await renderDefault()).replaceAll(/"image":"[^"]*"/g, `"image":"${IMAGE}"`);
    expect(JSON.parse(text)).toEqual(JSON.parse(ours));
    expect(parse(read('manifests/chart/Chart.yaml'))).toMatchObject({ version, appVersion: version });
    expect(parse(read('manifests/chart/values.yaml'))).toMatchObject({ image: IMAGE });
  });

  test('lists in the SBOM every package that is in the bundle, and no tool', async () => {
    const { stdout: licenses } = await run(
      'tar',
      [
        '-xzOf',
        `managed-tenant-quota-knative-${version}.tgz`,
        'package/dist/THIRD-PARTY-LICENSES',
        'package/dist/kubectl/THIRD-PARTY-LICENSES',
      ],
      { cwd: out, maxBuffer: 10_000_000 },
    );
    const bundled = [...licenses.matchAll(/^==== (\S+) (\d\S*) \(/gm)].map(
      ([, name = '', at = '']) => `pkg:npm/${name.replace('@', '%40')}@${at}`,
    );
    const sbom = JSON.parse(read('sbom.cdx.json')) as {
      bomFormat: string;
      metadata: { component: object };
      components: { name: string; purl: string }[];
    };
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'managed-tenant-quota-knative', version } },
    });
    expect(bundled.length).toBeGreaterThan(50);
    expect(sbom.components.map(({ purl }) => purl)).toEqual(expect.arrayContaining(bundled));
    expect(sbom.components.map(({ name }) => name)).not.toContain('eslint');
  });

  test('makes an archive of the kubectl plugin that runs, and a krew manifest with its checksum', async () => {
    const { stdout: sum } = await run('sha256sum', ['kubectl-vmmrq.tar.gz'], { cwd: out });
    expect(parse(read('vmmrq.yaml'))).toMatchObject({
      metadata: { name: 'vmmrq' },
      spec: {
        version: `v${version}`,
        caveats: expect.stringMatching(/^It needs Node \d+ or newer on the PATH\./) as never,
        platforms: [{ uri: 'kubectl-vmmrq.tar.gz', sha256: sum.split(' ')[0], bin: 'kubectl-vmmrq' }],
      },
    });
    const unpacked = join(folder.path, 'plugin');
    mkdirSync(unpacked);
    await run('tar', ['-xzf', 'kubectl-vmmrq.tar.gz', '-C', unpacked], { cwd: out });
    expect(readdirSync(unpacked).toSorted()).toEqual([
      ...['LICENSE', 'THIRD-PARTY-LICENSES', 'kubectl-vmmrq', 'kubectl_complete-vmmrq'],
    ]);
    const path = [unpacked, dirname(process.execPath), process.env['PATH']].join(':');
    const completed = await run('kubectl_complete-vmmrq', ['expl'], { env: { ...process.env, PATH: path } });
    expect(completed.stdout).toMatch(/^explain\t.*\n:4\n$/);
  });

  test('without an image makes nothing, and says how to set one', async () => {
    const failed = run('bash', ['hack/pack.sh', `${out}-without`], { cwd: tree, env: { ...env, IMAGE: '' } });
    await expect(failed).rejects.toThrow('IMAGE is not set');
  });

  test('does not touch a folder that is not empty', async () => {
    const failed = run('bash', ['hack/pack.sh', out], { cwd: tree, env });
    await expect(failed).rejects.toThrow(`${basename(out)} is not empty`);
  });
});

describe('npm version', () => {
  const NOTES = '- One thing.\n\n## 0.1.0 (2026-01-01)\n\n- Older.\n';
  let clone: string;
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run('git', ['-C', clone, ...args])).stdout.trim();
  const write = (changelog: string): void => writeFileSync(join(clone, 'CHANGELOG.md'), changelog);

  beforeEach(async () => {
    clone = join(folder.path, `clone-${String(performance.now())}`);
    mkdirSync(join(clone, 'hack'), { recursive: true });
    cpSync('hack/changelog.mjs', join(clone, 'hack/changelog.mjs'));
    const package_ = { name: 'some', version: '0.1.0', scripts: { version: scripts['version'] } };
    writeFileSync(join(clone, 'package.json'), JSON.stringify(package_));
    write(`# Changelog\n\n## Unreleased\n\n${NOTES}`);
    await git('init', '--quiet');
    for (const [key, value] of [
      ['user.name', 'somebody'],
      ['user.email', 'somebody@example.com'],
    ] as const)
      await git('config', key, value);
  });

  async function bump(): Promise<void> {
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'first');
    await run('npm', ['version', 'minor'], { cwd: clone });
  }

  test('turns the unreleased changes into the entry of the version, in the commit that it tags', async () => {
    await bump();
    const changelog = await git('show', 'v0.2.0:CHANGELOG.md');
    const [day] = /\d{4}-\d\d-\d\d/.exec(changelog) ?? [];
    expect(changelog).toBe(`# Changelog\n\n## Unreleased\n\n## 0.2.0 (${day ?? ''})\n\n${NOTES.trimEnd()}`);
    expect(JSON.parse(await git('show', 'v0.2.0:package.json'))).toMatchObject({ version: '0.2.0' });
    expect(await git('status', '--porcelain')).toBe('');
  });

  test('tags nothing without unreleased changes', async () => {
    write('# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-01)\n\n- Older.\n');
    await expect(bump()).rejects.toThrow("nothing under '## Unreleased'");
    expect(await git('tag')).toBe('');
  });
});

test('`npm version` runs the tests before a release, if the changelog has an entry', () => {
  expect(scripts['preversion']).toBe('node hack/changelog.mjs --check && npm test');
});
