import { join } from 'node:path';

/** The files of one control plane, all in its temporary folder. */
export interface Files {
  readonly etcdData: string;
  readonly etcdSocket: string;
  readonly etcdPeerSocket: string;
  readonly tokens: string;
  readonly serviceAccountKey: string;
  readonly certificates: string;
  /** The API server creates it: its serving certificate and the CA that signed it. */
  readonly ca: string;
  readonly auditPolicy: string;
  readonly audit: string;
  /** Of the second API server. */
  readonly secondAudit: string;
}

export const filesIn = (folder: string): Files => ({
  etcdData: join(folder, 'etcd'),
  etcdSocket: join(folder, 'etcd.sock'),
  etcdPeerSocket: join(folder, 'peer.sock'),
  tokens: join(folder, 'tokens.csv'),
  serviceAccountKey: join(folder, 'service-accounts.key'),
  certificates: join(folder, 'certificates'),
  ca: join(folder, 'certificates', 'apiserver.crt'),
  auditPolicy: join(folder, 'audit-policy.json'),
  audit: join(folder, 'audit.log'),
  secondAudit: join(folder, 'audit-2.log'),
});

/** Audits user, verb and object of every request when it is answered; no bodies. */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** The URL that etcd advertises to other members and clients. It has none, so the URL is never used. */
const ADVERTISED = 'http://127.0.0.1:2380';

/** One member that listens on sockets in its folder, so that it needs no port. */
export function etcdFlags(files: Files): string[] {
  return [
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=unix://${files.etcdSocket}`,
    `--advertise-client-urls=${ADVERTISED}`,
    `--listen-peer-urls=unix://${files.etcdPeerSocket}`,
    `--initial-advertise-peer-urls=${ADVERTISED}`,
    `--initial-cluster=default=${ADVERTISED}`,
    // The data need not survive a crash of the machine, and a single member can elect itself quickly.
    '--unsafe-no-fsync',
    '--heartbeat-interval=50',
    '--election-timeout=500',
    '--logger=zap',
  ];
}

const ISSUER = 'https://kubernetes.default.svc';

/**
 * Feature gates and limits stay at their defaults, because the tests are about them. If a flag is given twice, the last one counts.
 */
export const apiServerFlags = (files: Files, port: number): string[] => [
  `--etcd-servers=unix://${files.etcdSocket}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--secure-port=${port}`,
  `--cert-dir=${files.certificates}`,
  // The loopback address may not be an endpoint of the Service kubernetes.
  '--endpoint-reconciler-type=none',
  '--authorization-mode=RBAC',
  // As on OpenShift: who changes an object's owners needs the right to delete it.
  '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
  `--token-auth-file=${files.tokens}`,
  `--service-account-issuer=${ISSUER}`,
  `--service-account-signing-key-file=${files.serviceAccountKey}`,
  `--service-account-key-file=${files.serviceAccountKey}`,
  '--service-cluster-ip-range=10.0.0.0/24',
  '--allow-privileged=true',
  `--audit-policy-file=${files.auditPolicy}`,
  `--audit-log-path=${files.audit}`,
  // Written before the connection's next request, not in batches; never rotated while a reader uses it.
  '--audit-log-mode=blocking',
  '--audit-log-maxsize=100000',
];

/** Serves on every address of this machine, because endpoints must not be loopback addresses. */
export const REACHABLE = ['--bind-address=0.0.0.0'];

/**
 * Another API server on the same etcd: it uses the certificates of the first one, and reads namespaces by another
 * etcd URL than other kinds.
 */
export const secondApiServerFlags = (files: Files, port: number, wayToNamespaces: string): string[] => [
  ...apiServerFlags(files, port),
  ...REACHABLE,
  `--audit-log-path=${files.secondAudit}`,
  `--etcd-servers-overrides=/namespaces#${wayToNamespaces}`,
];

/** The controllers of quotas, owners, namespaces and roles; none for workloads, because no workload runs here. */
const CONTROLLERS = [
  // Without it view, edit and admin are empty.
  'clusterrole-aggregation-controller',
  'resourcequota-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
];

export const controllerManagerFlags = (files: Files, kubeconfig: string): string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--controllers=${CONTROLLERS.join(',')}`,
  // Each controller is a service account with its own role, as in a cluster.
  '--use-service-account-credentials',
  `--root-ca-file=${files.ca}`,
  '--leader-elect=false',
  // No periodic resync: every 5 minutes it would undo a test's manual raise.
  '--resource-quota-sync-period=0',
  // Serves nothing: no port.
  '--secure-port=0',
];
