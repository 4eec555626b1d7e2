import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { readTar, type FileEntry } from '../../image/archive.ts';
import { Layout } from '../../image/layout.ts';
import { PLATFORMS } from '../../image/platforms.ts';
import { NAME } from '../../image/sbom.ts';
import { renderDefault } from '../../local/cluster.ts';
import { temporaryFolder, type TemporaryFolder } from '../../local/controlplane/exit.ts';
import { pathsIn } from '../../release/pack.ts';

const run = promisify(execFile);
const root = process.cwd();
const VERSION = '99.0.0';
const REPOSITORY = 'registry.example:5000/team/mtq';

/** Of no cluster: a function connects to it when it is asked. */
const KUBECONFIG = {
  clusters: [{ name: 'none', cluster: { server: 'https://cluster.example' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  users: [{ name: 'none', user: {} }],
  'current-context': 'none',
};

let folder: TemporaryFolder;
let imageDigest: string;
let before: string;
let ended: { stdout: string; stderr: string };
let files: string[];
const file = (name: string): string => join(folder.path, 'release', name);

/** Commit, tags, and what differs from them. */
async function stateOfTree(): Promise<string> {
  const asked = [['rev-parse', 'HEAD'], ['tag'], ['status', '--porcelain'], ['diff']];
  return (await Promise.all(asked.map((args) => run('git', args, { cwd: root }))))
    .map(({ stdout }) => stdout)
    .join();
}

/** What `npm run image` leaves, with next to nothing in it: image.test.ts builds the real one. Returns its digest. */
async function standInImage(out: string): Promise<string> {
  mkdirSync(out, { recursive: true });
  const layout = new Layout(join(out, 'oci'), { version: VERSION, epoch: 0 });
  const layer = await layout.addLayer('a file', [{ type: 'file', path: 'a', content: Buffer.from('b') }]);
  for (const { architecture } of PLATFORMS)
    writeFileSync(join(out, `sbom-${architecture}.cdx.json`), `{"of":"${architecture}"}`);
  return layout.finish(PLATFORMS.map((platform) => layout.addImage(platform, [layer]))).digest;
}

beforeAll(async () => {
  folder = temporaryFolder('mtq-release-');
  const built = join(folder.path, 'image');
  imageDigest = await standInImage(built);
  before = await stateOfTree();
  const began = performance.now();
  const args = [VERSION, '--dry-run', '--checks', 'none', '--built', built, '--image', REPOSITORY];
  ended = await run(process.execPath, ['release/main.ts', ...args, '--out', file('')], { cwd: root });
  process.stderr.write(`· a dry run of a release: ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
  files = await pathsIn(file(''));
});
afterAll(() => folder.remove());

async function unpackPackage(): Promise<string> {
  const path = join(folder.path, 'unpacked');
  mkdirSync(path, { recursive: true });
  await run('tar', ['--extract', '--gzip', '--file', file(`${NAME}-${VERSION}.tgz`)], { cwd: path });
  return join(path, 'package');
}

test('it tells which image is in it, and changes nothing in the tree', async () => {
  expect([ended.stderr, ended.stdout]).toEqual(['', expect.stringContaining(imageDigest)]);
  expect(await stateOfTree()).toBe(before);
});

test('has the package, the image, the lists of its contents, the manifests, and checksums of them all', () => {
  const named = ['oci.tar', 'sbom-amd64.cdx.json', 'sbom-arm64.cdx.json', 'tgz'];
  const packed = named.map((end) => `${NAME}-${VERSION}.${end}`);
  const manifests = 'manifests/managed-tenant-quota.yaml';
  const others = files.filter((path) => !path.startsWith('manifests/chart/'));
  expect(others).toEqual(['SHA256SUMS', ...packed, manifests].toSorted());
  expect(files).toEqual(
    expect.arrayContaining(['manifests/chart/Chart.yaml', 'manifests/chart/values.yaml']),
  );
  const lines = readFileSync(file('SHA256SUMS'), 'utf8').trimEnd().split('\n');
  const sumOf = (path: string): string =>
    createHash('sha256')
      .update(readFileSync(file(path)))
      .digest('hex');
  const summed = files.filter((path) => path !== 'SHA256SUMS');
  expect(lines).toEqual(summed.map((path) => `${sumOf(path)}  ${path}`));
});

test('the package is of that version, with its changelog', async () => {
  const tgz = createReadStream(file(`${NAME}-${VERSION}.tgz`)).pipe(createGunzip());
  const entries = (await readTar(tgz, () => true)) as FileEntry[];
  const content = (path: string): string =>
    entries.find((entry) => entry.path === `package/${path}`)?.content.toString('utf8') ?? '';
  expect(JSON.parse(content('package.json'))).toMatchObject({ version: VERSION, name: NAME });
  expect(content('CHANGELOG.md')).toMatch(/^## 99\.0\.0 \(\d{4}-\d\d-\d\d\)$/m);
  for (const path of ['LICENSE', 'THIRD-PARTY-LICENSES', 'README.md', 'config/default/kustomization.yaml'])
    expect([path, content(path)]).not.toEqual([path, '']);
});

test('what is in the package runs with nothing else installed', async () => {
  const path = await unpackPackage();
  const kubeconfig = join(folder.path, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(KUBECONFIG));
  const script = "import('./dist/function.mjs').then(({ handle }) => console.log(typeof handle))";
  const { stdout } = await run(process.execPath, ['-e', script], {
    cwd: path,
    env: { K_SINK: 'http://broker.example', KUBECONFIG: kubeconfig },
  });
  expect(stdout).toBe('function\n');
  const { dependencies, scripts } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
    dependencies?: object;
    scripts: object;
  };
  expect([dependencies, scripts]).toEqual([undefined, { start: 'node dist/functions.mjs' }]);
});

test('the archive of the image is an OCI layout with all of it', async () => {
  const entries = await readTar(createReadStream(file(`${NAME}-${VERSION}.oci.tar`)), () => true);
  const layout = join(folder.path, 'image/oci');
  const wanted = await pathsIn(layout);
  const found = entries.filter((entry): entry is FileEntry => entry.type === 'file');
  expect(found.map(({ path }) => path).toSorted()).toEqual(wanted);
  for (const { path, content } of found) expect(content.equals(readFileSync(join(layout, path)))).toBe(true);
});

test('the manifests are those of config/default, with this image everywhere', async () => {
  const text = readFileSync(file('manifests/managed-tenant-quota.yaml'), 'utf8');
  const objects: unknown = JSON.parse(
    JSON.stringify(parseAllDocuments(text)).replaceAll(`${REPOSITORY}@${imageDigest}`, 'the image'),
  );
  const images = /"image":"[^"]*"/g;
  const ours = JSON.stringify(await renderDefault()).replaceAll(images, '"image":"the image"');
  expect(objects).toEqual(JSON.parse(ours));
});

test('the chart is of that version, with this image', () => {
  const chart = readFileSync(file('manifests/chart/Chart.yaml'), 'utf8');
  expect(parse(chart)).toMatchObject({ version: VERSION, appVersion: VERSION });
  const values = readFileSync(file('manifests/chart/values.yaml'), 'utf8');
  expect(parse(values)).toEqual({ image: `${REPOSITORY}@${imageDigest}` });
});
