import { DEFAULT_LOCK_SECONDS, MAX_LOCK_SECONDS } from './limits.ts';
import * as z from './zod.ts';

/** The steps of a cycle, in their order. */
export const CYCLE_STEPS = ['feasibility', 'lock', 'raise', 'lower', 'unlock'] as const;
export type CycleStepName = (typeof CYCLE_STEPS)[number];
export const STEP_NAMES = [...CYCLE_STEPS, 'progress'] as const;
export type StepName = (typeof STEP_NAMES)[number];
/** The function of the component for live migrations between clusters. */
export const LIVE = 'live';

const whole = (
  min: number,
  max: number,
  preset: number,
): z.ZodMiniPipe<z.ZodMiniDefault<z.ZodMiniString>, z.ZodMiniTransform<number, string>> =>
  z.pipe(
    z._default(z.string(), String(preset)),
    z.transform((text, context) => {
      const value = /^\d+$/.test(text) ? Number(text) : NaN;
      if (value >= min && value <= max) return value;
      const message = `must be a whole number from ${String(min)} to ${String(max)}, is '${text}'`;
      context.issues.push({ code: 'custom', message, input: text });
      return z.NEVER;
    }),
  );

const filled = (preset: string): z.ZodMiniDefault<z.ZodMiniString> =>
  z._default(z.string().check(z.minLength(1, 'must not be empty')), preset);

const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** "1.30": the oldest minor version of something. */
const minor = (preset: string): z.ZodMiniDefault<z.ZodMiniString> =>
  z._default(z.string().check(z.regex(/^\d+\.\d+$/, "must be a minor version such as '1.30'")), preset);

const file = z.optional(z.string().check(z.minLength(1)));

/** Texts with commas between them. */
const list = z.pipe(
  z._default(z.string(), ''),
  z.transform((text) => text.split(',').filter((part) => part !== '')),
);

/** Variables that every process of this project reads (docs/reference.md#environment-variables). */
const shared = {
  PORT: whole(0, 65_535, 8080),
  K_SINK: z.optional(url),
  /** The file with the token that the Broker requires (config/components/oidc); it is read again for each event. */
  K_SINK_TOKEN: file,
  KUBECONFIG: file,
  SERVICE_ACCOUNT_FOLDER: filled('/var/run/secrets/kubernetes.io/serviceaccount'),
  KUBEVIRT_NAMESPACE: filled('kubevirt'),
  KUBEVIRT_CONTROLLER: filled('kubevirt-controller'),
  LOCK_SECONDS: whole(5, MAX_LOCK_SECONDS, DEFAULT_LOCK_SECONDS),
  STALL_SECONDS: whole(1, 30, 3),
  LOG_LEVEL: z._default(z.enum(['debug', 'info', 'warn', 'error']), 'info'),
  /** Whether live migrations between clusters are installed; `loopback`: clusters of one machine, for tests. */
  LIVE_MIGRATION: z._default(z.enum(['off', 'on', 'loopback']), 'off'),
  /** Readiness of functions, which a request starts: for `lock` the later steps, for the guard all of a cycle. */
  WAKE_URLS: z.pipe(list, z.array(url)),
  /** Networks where Providers' servers may be although pods or Services of this cluster have addresses there. */
  PROVIDER_NETWORKS: z.pipe(
    list,
    z.array(z.union([z.cidrv4(), z.cidrv6()], 'must be networks such as 10.0.0.0/8')),
  ),
};

const functionsSchema = z.object({
  ...shared,
  /** `live` is no step of a cycle, and never runs with others. */
  STEP: z.optional(z.enum([...STEP_NAMES, LIVE])),
  /** How many VMs of a Migration move at the same time. */
  LIVE_VMS: whole(1, 200, 20),
  SETTLE_MS: whole(0, 2_000, 250),
  /** The guard's /view. */
  VIEW_URL: z.optional(url),
});

const DAY_SECONDS = 24 * 60 * 60;

const guardVariables = {
  ...shared,
  /** The layer that reviews requests: our webhooks, or the API server alone by policies. */
  ADMISSION: z._default(z.enum(['webhook', 'policy']), 'webhook'),
  /** The first version with ValidatingAdmissionPolicies on by default. */
  OLDEST_KUBERNETES: minor('1.30'),
  TLS_PORT: whole(0, 65_535, 8443),
  /** PEM: reviews are served only to clients with a certificate of this authority, where the API servers have one for webhooks. */
  REVIEW_CLIENT_CA: z.optional(z.string().check(z.startsWith('-----BEGIN CERTIFICATE-----'))),
  SWEEP_SECONDS: whole(1, 3_600, 30),
  /** A longer delay would leave the repair no time within the 15 s of I3. */
  OVERDUE_SECONDS: whole(1, 10, 5),
  CA_SECONDS: whole(3, 3_650 * DAY_SECONDS, 365 * DAY_SECONDS),
  CERTIFICATE_SECONDS: whole(3, 3_650 * DAY_SECONDS, 90 * DAY_SECONDS),
  CA_LEAD_MS: whole(0, 600_000, 60_000),
  SHUTDOWN_DELAY_MS: whole(0, 60_000, 5_000),
};

/** Certificates are renewed when a third of their time is left. A successor must be trusted, and in use, well before the end. */
const isLeadInTime = (times: z.infer<z.ZodMiniObject<typeof guardVariables>>): boolean =>
  times.CA_LEAD_MS * 6 <= Math.min(times.CA_SECONDS, times.CERTIFICATE_SECONDS) * 1_000;

const guardSchema = z.object(guardVariables).check(
  z.refine(isLeadInTime, {
    path: ['CA_LEAD_MS'],
    error: 'must be at most a sixth of CA_SECONDS and of CERTIFICATE_SECONDS',
  }),
);

export type Settings = z.infer<typeof functionsSchema>;
export type GuardSettings = z.infer<typeof guardSchema>;

/** Thrown at start; names the wrong variable and the reason. */
export class BadSettings extends Error {
  override readonly name = 'BadSettings';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Steps that post events besides their replies. */
const POSTING: readonly (StepName | typeof LIVE)[] = ['unlock', 'progress', LIVE];

/** Settings of the functions' process. Throws BadSettings. */
export function readSettings(environment: Environment): Settings {
  const settings = parse(functionsSchema, environment);
  const needsSink = settings.STEP === undefined || POSTING.includes(settings.STEP);
  if (needsSink && settings.K_SINK === undefined) {
    throw new BadSettings(
      'K_SINK: is missing; unlock, progress and live post their events to the Broker at this URL',
    );
  }
  return settings;
}

/** Settings of the guard's process. Throws BadSettings. */
export function readGuardSettings(environment: Environment): GuardSettings {
  const settings = parse(guardSchema, environment);
  if (settings.K_SINK === undefined) {
    throw new BadSettings('K_SINK: is missing; the watchdog posts its events to the Broker at this URL');
  }
  return settings;
}

function parse<T>(schema: z.ZodMiniType<T>, environment: Environment): T {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new BadSettings(lines.join('; '));
}
