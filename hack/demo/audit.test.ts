import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { actorOf, AuditLog } from './audit.ts';

let folder: TemporaryFolder;
let file: string;

beforeEach(() => {
  folder = temporaryFolder('mtq-audit-test-');
  file = join(folder.path, 'audit.log');
  writeFileSync(file, '');
});

afterEach(() => folder.remove());

const LOCK = 'system:serviceaccount:mtq-system:mtq-lock';

/** A line from kube-apiserver (v1.36), without the fields that the demo does not read. */
const line = (more: {
  verb?: string;
  user?: string;
  uri?: string;
  code?: number;
  version?: string;
}): string =>
  `${JSON.stringify({
    kind: 'Event',
    environment: 'ResponseComplete',
    requestURI: more.uri ?? '/api/v1/namespaces/red',
    verb: more.verb ?? 'update',
    user: { username: more.user ?? LOCK },
    objectRef: {
      resource: 'namespaces',
      namespace: 'red',
      name: 'red',
      resourceVersion: more.version ?? '7',
    },
    responseStatus: { metadata: {}, code: more.code ?? 200 },
  })}\n`;

const replaced = { resource: 'namespaces', namespace: 'red', name: 'red', resourceVersion: '7' };

const cases: Record<string, { lines: string[]; want: string | undefined }> = {
  'a PUT that succeeded': { lines: [line({})], want: LOCK },
  'others lost the race': { lines: [line({ user: 'slow', code: 409 }), line({})], want: LOCK },
  'a dry run': { lines: [line({ uri: '/api/v1/namespaces/red?dryRun=All' })], want: undefined },
  'another version': { lines: [line({ version: '8' })], want: undefined },
  'a GET': { lines: [line({ verb: 'get' })], want: undefined },
};

test.each(Object.entries(cases))('%s', (_name, { lines, want }) => {
  const audit = new AuditLog(file);
  writeFileSync(file, lines.join(''));

  audit.read();

  expect(audit.writerOf(replaced)).toBe(want);
});

test('the log reads an incomplete line once it is complete', () => {
  const audit = new AuditLog(file);
  const text = line({});
  appendFileSync(file, text.slice(0, 50));
  audit.read();
  appendFileSync(file, text.slice(50));
  audit.read();

  expect(audit.writerOf(replaced)).toBe(LOCK);
});

test('users have names in the timeline', () => {
  const users = [LOCK, 'system:serviceaccount:kube-system:resourcequota-controller', 'admin', 'alice'];

  expect(users.map(actorOf)).toEqual(['lock', 'quota controller', 'tenant', 'alice']);
});
