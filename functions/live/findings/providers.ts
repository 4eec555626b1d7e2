import { critical, withReady, type Finding } from '../../domain/live/conditions.ts';
import type { Provider } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_LABEL } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { settingProblems } from '../run/settings.ts';

/** A provider, and its cluster's answer. */
export interface ProviderView {
  readonly provider: Provider;
  /** The Secret; undefined if the provider's namespace has none of that name. */
  readonly secret: SecretView | undefined;
  /** The answer of its API server; undefined if none was requested, because something is missing. */
  readonly answer: Answer | undefined;
  /** Whether addresses of the machine itself are allowed, for clusters of one machine. */
  readonly allowLoopback: boolean;
}

/** The content of a Secret, without its token. */
export interface SecretView {
  readonly labels: Readonly<Record<string, string>>;
  readonly hasToken: boolean;
  readonly url: string | undefined;
  readonly isInsecure: boolean;
}

export type Answer =
  /** Nothing more is shown: a user who may write a Provider would learn what listens at any address. */
  | { readonly kind: 'ok' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'unauthorized' | 'forbidden'; readonly message: string };

/** Findings of a provider (facts/cross-cluster.md §A3). The Secret has the URL too, so that its owner agrees to where the token goes. */
export function providerFindings(view: ProviderView): readonly Finding[] {
  const problems = [...specProblems(view), ...secretProblems(view)];
  if (problems.length > 0) return problems;
  const validated: Finding = {
    type: LIVE_CONDITION.validated,
    category: 'Advisory',
    message: 'Validation has been completed.',
  };
  return withReady([validated, ...insecure(view), ...connection(view)], 'The provider is ready.');
}

/** Whether the provider is the cluster of its own object. */
export const isHost = ({ spec }: Provider): boolean => (spec.url ?? '') === '';

function specProblems({ provider, allowLoopback }: ProviderView): Finding[] {
  const { type = '', url = '' } = provider.spec;
  if (type !== 'openshift')
    return [
      critical(LIVE_CONDITION.providerTypeNotSupported, 'NotSupported', {
        message: `Provider type ${type || 'not set'} is not supported.`,
        suggestion: 'Use openshift, which is any Kubernetes with KubeVirt.',
      }),
    ];
  const problems = settingProblems(provider.spec.settings);
  if (problems.length > 0)
    return [
      critical(LIVE_CONDITION.settingsNotValid, 'NotValid', {
        message: `The settings are not valid: ${problems.join('; ')}.`,
        suggestion: 'Correct spec.settings, or remove what is not supported.',
      }),
    ];
  if (isHost(provider) || isUsable(url, allowLoopback)) return [];
  return [
    critical(LIVE_CONDITION.urlNotValid, 'Malformed', {
      message: 'The provider URL is not valid.',
      suggestion:
        'Use the https URL of an API server of another cluster, such as https://api.example.com:6443.',
    }),
  ];
}

/** Whether the text is the URL of an API server. Addresses of the machine that connects are refused: other things listen there. */
export function isUsable(text: string, allowLoopback: boolean): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') return false;
  return allowLoopback || !OWN_ADDRESSES.test(url.hostname);
}

/** Loopback, link-local and unspecified, as URL writes them. */
const OWN_ADDRESSES =
  /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|169\.254\.\d+\.\d+|\[(::1?|fe[89ab].*|::ffff:.*)\])$/i;

function secretProblems({ provider, secret }: ProviderView): Finding[] {
  if (isHost(provider)) return [];
  const { name, namespace = provider.metadata.namespace } = named(provider.spec.secret ?? {});
  const message = 'The `secret` is not valid.';
  const problem = (reason: string, suggestion: string): Finding[] => [
    critical(LIVE_CONDITION.secretNotValid, reason, { message, suggestion }),
  ];
  if (name === '') return problem('NotSet', 'Set spec.secret to a Secret in the namespace of the provider.');
  if (namespace !== provider.metadata.namespace)
    return problem('NotValid', 'Move the Secret to the namespace of the provider.');
  if (secret === undefined) return problem('NotFound', `Create the Secret ${name}.`);
  const missing = missingOf(secret, provider);
  return missing === undefined ? [] : problem('DataErr', missing);
}

/** Returns the problem of the Secret, with what to do. */
function missingOf({ labels, hasToken, url }: SecretView, { spec }: Provider): string | undefined {
  if (labels[LIVE_LABEL.provider] !== 'true') return `Label the Secret ${LIVE_LABEL.provider}=true.`;
  if (!hasToken) return 'Add the key token to the Secret.';
  return url === spec.url ? undefined : 'Add the key url to the Secret, with the URL of the provider.';
}

const insecure = ({ secret }: ProviderView): Finding[] =>
  secret?.isInsecure === true
    ? [
        {
          type: LIVE_CONDITION.connectionInsecure,
          category: 'Warn',
          reason: 'SkipTLSVerification',
          message: 'The certificate of the API server is not checked.',
          suggestion: 'Add ca.crt to the Secret, and remove insecureSkipVerify.',
        },
      ]
    : [];

function connection({ answer, provider }: ProviderView): Finding[] {
  if (answer?.kind === 'ok')
    return [
      {
        type: LIVE_CONDITION.connectionSucceeded,
        category: 'Required',
        reason: 'Tested',
        message: 'Connection test, succeeded.',
      },
      {
        type: LIVE_CONDITION.inventoryCreated,
        category: 'Required',
        reason: 'Completed',
        message: 'The inventory has been loaded.',
      },
    ];
  if (answer === undefined || answer.kind === 'unreachable')
    return [
      critical(LIVE_CONDITION.connectionFailed, 'Tested', {
        message: 'The API server at spec.url cannot be reached, or is no API server.',
        suggestion: 'Check the URL, ca.crt, and the network from this cluster. The log of live says more.',
      }),
    ];
  const { kind, message } = answer;
  const suggestion =
    kind === 'unauthorized'
      ? `Renew the token in Secret ${named(provider.spec.secret ?? {}).name}.`
      : 'Give the service account of the token the roles that plans need.';
  return [critical(LIVE_CONDITION.connectionAuthFailed, 'Tested', { message, suggestion })];
}

/** status.phase of a provider with these findings. */
export function phaseOf(findings: readonly Finding[]): NonNullable<Provider['status']>['phase'] & string {
  const has = (type: string): boolean => findings.some((finding) => finding.type === type);
  if (has(LIVE_CONDITION.ready)) return 'Ready';
  return has(LIVE_CONDITION.validated) ? 'ConnectionFailed' : 'ValidationFailed';
}
