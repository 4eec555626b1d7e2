import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A user as the API server's static token file knows it. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface KnownUser extends User {
  readonly token: string;
}

/** The control plane's own users. Callers act as `admin`, so that the audit log separates their requests from internal ones. */
export const ADMIN: User = { name: 'admin', groups: ['system:masters'] };
export const STARTER: User = { name: 'local:starter', groups: ['system:masters'] };
export const TOKEN_ISSUER: User = { name: 'local:token-issuer', groups: ['system:masters'] };
export const CONTROLLER_MANAGER: User = { name: 'system:kube-controller-manager', groups: [] };

/** Gives every user a token. Of two users with the same name the later one counts. */
export function withTokens(users: readonly User[]): KnownUser[] {
  const byName = new Map(users.map((user) => [user.name, user]));
  return [...byName.values()].map((user) => ({ ...user, token: randomUUID() }));
}

/** --token-auth-file: token, user, uid, groups. The API server reads it at its start only. */
export function writeTokenFile(file: string, users: readonly KnownUser[]): void {
  const lines = users.map(({ token, name, groups }) =>
    [token, name, name, groups.join(',')].map(csv).join(','),
  );
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
}

const csv = (field: string): string => `"${field.replaceAll('"', '""')}"`;

/** The key with which the API server signs the tokens of service accounts. */
export function writeServiceAccountKey(file: string): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(file, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
}

export interface Access {
  readonly folder: string;
  readonly server: string;
  /** PEM. */
  readonly ca: Buffer;
  readonly user: string;
  readonly token: string;
}

/** Writes a kubeconfig that needs no other file, and returns its path. */
export function writeKubeconfig({ folder, server, ca, user, token }: Access): string {
  const name = 'local';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': ca.toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
  const file = join(folder, `${user.replaceAll(/[^A-Za-z0-9.-]/g, '_')}.kubeconfig`);
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return file;
}
