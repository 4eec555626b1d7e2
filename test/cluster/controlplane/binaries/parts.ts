/** The parts of the local control plane, and Helm for a test; and their sources. */
export interface Part {
  /** The folder here with the go.mod that pins it. */
  readonly module: 'kubernetes' | 'etcd' | 'kustomize' | 'helm';
  /** The Go package with its main function. */
  readonly package: string;
  /** The Go module whose version in go.mod is the version of the binary. */
  readonly versionOf: string;
  /** Arguments that print its version. */
  readonly versionArgs: readonly string[];
  /** Duration of a build from an empty Go cache on two cores, for the progress report. */
  readonly usual: string;
  /** Whether KUBEBUILDER_ASSETS holds it: envtest's own download has etcd, kube-apiserver and kubectl. */
  readonly inAssets: 'always' | 'maybe' | 'never';
}

const versionOf = 'k8s.io/kubernetes';
const fromKubernetes = { module: 'kubernetes', versionOf } as const;
const server = { versionArgs: ['--version'] };

export const PARTS = {
  etcd: {
    ...server,
    module: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    versionOf: 'go.etcd.io/etcd/server/v3',
    usual: '0.5 to 1 min',
    inAssets: 'always',
  },
  'kube-apiserver': {
    ...server,
    ...fromKubernetes,
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    usual: '2.5 to 5.5 min',
    inAssets: 'always',
  },
  'kube-controller-manager': {
    ...server,
    ...fromKubernetes,
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    usual: '0.7 to 1.5 min',
    inAssets: 'maybe',
  },
  kubectl: {
    ...fromKubernetes,
    package: 'k8s.io/kubernetes/cmd/kubectl',
    versionArgs: ['version', '--client'],
    usual: '0.5 min',
    inAssets: 'maybe',
  },
  kustomize: {
    module: 'kustomize',
    package: 'sigs.k8s.io/kustomize/kustomize/v5',
    versionOf: 'sigs.k8s.io/kustomize/kustomize/v5',
    versionArgs: ['version'],
    usual: '0.3 min',
    inAssets: 'never',
  },
  helm: {
    module: 'helm',
    package: 'helm.sh/helm/v3/cmd/helm',
    versionOf: 'helm.sh/helm/v3',
    versionArgs: ['version', '--short'],
    usual: '1 to 2 min',
    inAssets: 'never',
  },
} as const satisfies Record<string, Part>;

export type BinaryName = keyof typeof PARTS;
export const BINARIES = Object.keys(PARTS) as BinaryName[];
/** Without Helm, which only a long test needs. */
export type UsualBinary = Exclude<BinaryName, 'helm'>;
export const USUAL_BINARIES = BINARIES.filter((name): name is UsualBinary => name !== 'helm');
