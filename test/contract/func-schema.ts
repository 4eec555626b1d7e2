import * as z from 'zod';

/**
 * func.yaml of Knative Functions, specVersion 0.36.0 (facts/knative.md §3.3). Like func's JSON schema it refuses unknown
 * fields; it also has the checks that func makes when it loads the file.
 */
const nameValue = z.strictObject({
  name: z.string().regex(/^[-._a-zA-Z][-._a-zA-Z0-9]*$/),
  value: z.string(),
});
const quantity = z.string().regex(/^\d+(\.\d+)?(m|k|M|G|Ki|Mi|Gi)?$/);

const scale = z
  .strictObject({
    min: z.int().min(0).optional(),
    max: z.int().min(0).optional(),
    metric: z.enum(['concurrency', 'rps']).optional(),
    target: z.number().min(0.01).optional(),
    utilization: z.number().min(1).max(100).optional(),
  })
  .refine(({ min = 0, max }) => max === undefined || max === 0 || max >= min, 'max is less than min');

/** func writes them on the Service too, and Serving refuses these there. */
const annotations = z.record(
  z.string().refine((key) => !key.startsWith('autoscaling.knative.dev/'), 'refused by Serving'),
  z.string(),
);

const deploy = z.strictObject({
  namespace: z.string().optional(),
  image: z.string().optional(),
  annotations: annotations.optional(),
  labels: z.array(z.strictObject({ key: z.string(), value: z.string().optional() })).optional(),
  serviceAccountName: z.string().optional(),
  imagePullSecret: z.string().optional(),
  healthEndpoints: z.strictObject({ liveness: z.string(), readiness: z.string() }).partial().optional(),
  options: z
    .strictObject({
      scale: scale.optional(),
      resources: z
        .strictObject({
          requests: z.strictObject({ cpu: quantity, memory: quantity }).partial().optional(),
          limits: z
            .strictObject({ cpu: quantity, memory: quantity, concurrency: z.int().min(0) })
            .partial()
            .optional(),
        })
        .optional(),
    })
    .optional(),
  subscriptions: z
    .array(z.strictObject({ source: z.string(), filters: z.record(z.string(), z.string()).optional() }))
    .optional(),
});

export const functionSchema = z.strictObject({
  specVersion: z.literal('0.36.0'),
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
  domain: z.string().optional(),
  runtime: z.enum(['node', 'typescript']),
  registry: z.string().optional(),
  image: z.string().optional(),
  namespace: z.string().optional(),
  deployer: z.enum(['knative', 'raw', 'keda']).optional(),
  created: z.iso.datetime(),
  invoke: z.enum(['http', 'cloudevent']).optional(),
  build: z
    .strictObject({
      builder: z.enum(['pack', 's2i']).optional(),
      builderImages: z.record(z.string(), z.string()).optional(),
      buildpacks: z.array(z.string()).optional(),
      buildEnvs: z.array(nameValue).optional(),
    })
    .optional(),
  run: z.strictObject({ envs: z.array(nameValue).optional() }).optional(),
  deploy: deploy.optional(),
});

export type FunctionFile = z.infer<typeof functionSchema>;
