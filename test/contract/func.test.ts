import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { readSettings } from '../../functions/runtime/settings.ts';
import { renderDefault } from '../cluster/cluster.ts';
import { functionSchema, type FunctionFile } from './func-schema.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const file = parse(read('func.yaml')) as FunctionFile;
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

interface KnativeService extends KubernetesObject {
  spec: {
    template: {
      metadata: { annotations: Record<string, string> };
      spec: {
        serviceAccountName: string;
        containerConcurrency: number;
        containers: [
          {
            env: { name: string; value: string }[];
            readinessProbe: { httpGet: { path: string } };
            livenessProbe: { httpGet: { path: string } };
            resources: { requests: Record<string, string>; limits: Record<string, string> };
          },
        ];
      };
    };
  };
}

describe('func.yaml', () => {
  test('is a Function that func accepts', () => {
    expect(functionSchema.parse(file)).toEqual(file);
  });

  const { deploy, name, ...rest } = file;
  test.each<[string, unknown]>([
    ['a key that func does not know', { ...file, envs: [] }],
    ['no time of creation', { ...rest, name, created: undefined }],
    ['another specVersion', { ...file, specVersion: '0.35.0' }],
    ['a name that is no DNS label', { ...file, name: 'Steps' }],
    ['an annotation that Serving refuses', annotated('autoscaling.knative.dev/window')],
    ['max less than min', { ...file, deploy: { ...deploy, options: { scale: { min: 3, max: 2 } } } }],
    ['a number for a variable', { ...file, run: { envs: [{ name: 'SETTLE_MS', value: 250 }] } }],
  ])('the schema refuses %s', (_, changed) => {
    expect(functionSchema.safeParse(changed).success).toBe(false);
  });

  function annotated(key: string): unknown {
    return { ...file, deploy: { ...deploy, annotations: { [key]: '6s' } } };
  }

  test('has variables with which the process starts, all steps in one', () => {
    const env = Object.fromEntries(file.run?.envs?.map(({ name, value }) => [name, value]) ?? []);
    expect(readSettings(env)).toMatchObject({ SETTLE_MS: 250, K_SINK: env['K_SINK'], PORT: 8080 });
    expect(env).not.toHaveProperty('STEP');
  });

  test('names scripts and files that exist for the buildpack', () => {
    const script = file.build?.buildEnvs?.find(({ name }) => name === 'BP_NODE_RUN_SCRIPTS')?.value ?? '';
    expect(scripts[script]).toBe('node hack/build.ts');
    expect(scripts['start']).toBe('node dist/functions.mjs');
    // The build needs this folder, so func must upload it.
    expect(read('.funcignore').split('\n')).not.toContain('local');
  });
});

test('func finds its line in .gitignore, and adds none (facts/knative.md §3.7)', () => {
  expect(read('.gitignore').split('\n')).toContain('/.func');
});

describe('func.yaml and config/serving say the same', () => {
  let services: KnativeService[];
  beforeAll(async () => {
    const objects = await renderDefault();
    services = objects.filter(
      ({ apiVersion }) => apiVersion === 'serving.knative.dev/v1',
    ) as KnativeService[];
  });
  const named = (name: string): KnativeService => {
    const found = services.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`no Service ${name}`);
    return found;
  };

  test('environment: has the variables of all steps', () => {
    const envOf = (name: string): { name: string; value: string }[] =>
      named(name).spec.template.spec.containers[0].env;
    const all = [...envOf('raise'), ...envOf('unlock')].filter(({ name }) => name !== 'STEP');
    const declared = [...new Map(all.map((each) => [each.name, each])).values()];
    const ours = file.run?.envs?.filter(({ name }) => name !== 'FUNC_BODY_LIMIT') ?? [];
    expect(ours).toEqual(expect.arrayContaining(declared));
    expect(ours).toHaveLength(declared.length);
  });

  test('service account, probes, scale, resources', () => {
    const { template } = named('raise').spec;
    const { readinessProbe, livenessProbe, resources } = template.spec.containers[0];
    const { deploy } = file;
    expect(deploy?.serviceAccountName).toBe(template.spec.serviceAccountName);
    expect(deploy?.healthEndpoints).toEqual({
      readiness: readinessProbe.httpGet.path,
      liveness: livenessProbe.httpGet.path,
    });
    const { annotations } = template.metadata;
    expect(deploy?.options?.scale).toEqual({
      min: Number(annotations['autoscaling.knative.dev/min-scale']),
      max: Number(annotations['autoscaling.knative.dev/max-scale']),
    });
    expect(deploy?.options?.resources).toEqual({
      requests: resources.requests,
      limits: { ...resources.limits, concurrency: template.spec.containerConcurrency },
    });
  });
});
