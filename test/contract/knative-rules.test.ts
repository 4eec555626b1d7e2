import { beforeAll, describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';
import { parseImage } from '../cluster/image.ts';
import { renderInstallation } from '../cluster/overlay.ts';
import { knativeProblems } from './knative-rules.ts';

let text: string;

beforeAll(async () => {
  const image = parseImage('registry.example/mtq:0.1.0');
  text = await renderInstallation({ overlay: 'default', components: ['oidc', 'event-types'], image });
});

interface LooseObject extends KubernetesObject {
  spec: Record<string, never>;
}

/** The problems of the manifests after a change of one object. */
function after(
  kind: string,
  name: string,
  change: (object: { metadata: never; spec: never }) => void,
): string[] {
  const objects = objectsOf(text);
  const found = objects.find(
    (object) => object.kind === kind && object.metadata.name === name,
  ) as LooseObject;
  change(found as never);
  return knativeProblems(objects);
}

type Any = Record<string, unknown>;
const set =
  (path: string, value: unknown) =>
  (object: unknown): void => {
    const names = path.split('/');
    const last = names.pop() ?? '';
    const at = names.reduce<Any>((inner, name) => (inner[name] ??= {}) as Any, object as Any);
    if (value === undefined) Reflect.deleteProperty(at, last);
    else at[last] = value;
  };

const CONTAINER = 'spec/template/spec/containers/0';

describe('configuration that Knative refuses or handles badly', () => {
  test.each<[string, string, string, unknown, string]>([
    ['Service', 'lower', `${CONTAINER}/env/0/name`, 7, 'must be string'],
    ['Service', 'lower', `${CONTAINER}/imagePullPolicies`, 'Always', 'imagePullPolicies is nothing'],
    ['Service', 'lower', `${CONTAINER}/image`, 'LATEST', 'is no image reference'],
    ['Service', 'lower', 'spec/template/spec/replicas', 2, 'replicas is nothing'],
    ['Service', 'lower', 'spec/template/spec/timeoutSeconds', 900, 'above what Knative allows'],
    ['Service', 'lower', 'spec/template/spec/timeoutSeconds', 11, 'gives up before its function does'],
    [
      'Service',
      'lower',
      'metadata/annotations',
      { 'autoscaling.knative.dev/min-scale': '0' },
      'facts/knative.md §3.3',
    ],
    [
      ...(['Service', 'lower', 'spec/template/metadata/annotations'] as const),
      { 'autoscaling.knative.dev/min-scale': '2', 'autoscaling.knative.dev/max-scale': '1' },
      'min-scale is above max-scale',
    ],
    ['Broker', 'mtq', 'metadata/annotations', {}, 'holds up the source'],
    ['Broker', 'mtq', 'spec/delivery/backoffPolicy', 'sometimes', 'backoffPolicy'],
    ['Trigger', 'mtq-lower', 'spec/subscriber/ref/name', 'lowers', 'no Service lowers'],
    ['Trigger', 'mtq-lower', 'spec/broker', 'other', 'no Broker other'],
    ['Trigger', 'mtq-lower', 'spec/delivery/deadLetterSink', undefined, 'multiply along the chain'],
    ['Trigger', 'mtq-lower', 'spec/delivery/retry', undefined, '204 s'],
    ['Trigger', 'mtq-lower', 'spec/delivery/backoffDelay', '1s', 'no ISO 8601 duration'],
    ['Trigger', 'mtq-lower', 'spec/filters', [{ exact: { type: '' } }], 'must not be empty'],
    ['Trigger', 'mtq-lower', 'spec/filters', [{ exact: { 'api-version': 'v1' } }], 'no attribute'],
    ['ApiServerSource', 'mtq', 'spec/mode', 'Any', 'mode'],
    ['ApiServerSource', 'mtq', 'spec/resources', [], 'resources'],
    ['ApiServerSource', 'mtq', 'spec/delivery', { retry: 3 }, 'delivery'],
    ['ApiServerSource', 'mtq', 'spec/sink/ref/name', 'other', 'no Broker other'],
    ['EventPolicy', 'mtq', 'spec/from', [{}], 'either a subject or a reference'],
    ['EventType', 'io.kubevirt.mtq.drain.started', 'spec/type', undefined, 'type'],
    ['EventType', 'io.kubevirt.mtq.drain.started', 'spec/reference/name', 'other', 'no such Broker'],
  ])('%s %s: %s = %j', (...[kind, name, path, value, want]) => {
    expect(after(kind, name, set(path, value)).join('\n')).toContain(want);
  });

  test('an unknown kind', () => {
    expect(after('Broker', 'mtq', set('apiVersion', 'eventing.knative.dev/v2')).join('\n')).toContain(
      'no kind',
    );
  });

  test('the unchanged manifests have no problems', () => {
    expect(after('Broker', 'mtq', () => undefined)).toEqual([]);
  });
});
