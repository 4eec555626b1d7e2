import { parseJson } from '../../domain/bounded.ts';
import { isSame } from '../../domain/same.ts';
import type { NewObject } from './decision.ts';
import type { Hook, Plan } from '../../domain/live/forklift.ts';
import type { ConfigMap, VirtualMachine, Volume } from '../../domain/live/kubevirt.ts';
import { FORKLIFT_KIND, LAST_APPLIED, LIVE_KIND } from '../../domain/live/names.ts';
import { hookName, isOfRun, runLabels, type RunId } from './names.ts';

export interface HookInput {
  readonly run: RunId;
  readonly step: 'PreHook' | 'PostHook';
  readonly hook: Hook;
  readonly plan: Plan;
  readonly vm: VirtualMachine;
}

/** The folder in which the image finds the VM, the plan and the playbook, as in Forklift (facts/cross-cluster.md §B2). */
const FOLDER = '/tmp/hook';

/**
 * Returns the Job of a hook, and the ConfigMap that it mounts. Both go with the plan. Their names are fixed, so there is one Job at a time.
 * It is made suspended (hook.ts).
 */
export function hookObjects({ run, step, hook, plan, vm }: HookInput): [NewObject<ConfigMap>, NewObject] {
  const name = hookName(run, step);
  const { uid, name: planName, namespace = '' } = plan.metadata;
  const metadata = {
    name,
    namespace,
    labels: runLabels(run),
    ownerReferences: [{ ...FORKLIFT_KIND.plan, name: planName, uid }],
  };
  const { image = '', playbook = '', deadline = 0 } = hook.spec;
  const account = accountOf(hook, plan);
  const files = {
    'workload.yml': JSON.stringify(withoutSecrets(vm)),
    'plan.yml': JSON.stringify(plan.spec),
  };
  const pod = {
    restartPolicy: 'Never',
    ...(account === undefined ? {} : { serviceAccountName: account }),
    containers: [
      {
        name: 'hook',
        image,
        ...(playbook === '' ? {} : { command: [...RUNNER, `${FOLDER}/playbook.yml`] }),
        resources: { requests: { cpu: '100m', memory: '150Mi' }, limits: { cpu: '1', memory: '1Gi' } },
        volumeMounts: [{ name: 'hook', mountPath: FOLDER }],
      },
    ],
    volumes: [{ name: 'hook', configMap: { name } }],
  };
  return [
    // The API server decodes base64 in binaryData, so the playbook is never decoded here.
    {
      ...LIVE_KIND.configMap,
      ...{ metadata, data: files, binaryData: { 'playbook.yml': playbook }, immutable: true },
    },
    {
      ...LIVE_KIND.job,
      metadata,
      spec: {
        suspend: true,
        backoffLimit: 1,
        // The deadline is the Job's: a pod that exceeds its own has failed, and is followed by another one.
        ...(deadline > 0 ? { activeDeadlineSeconds: deadline } : {}),
        template: { metadata: { labels: runLabels(run) }, spec: pod },
      },
    } as NewObject,
  ];
}

/**
 * Checks whether the ConfigMap that the Job mounts is the run's. Any user who may create ConfigMaps may have made one of its name before,
 * whose playbook would run with the hook's service account. `stale`: made of the VM as it was before, or so it says.
 */
export function checkFiles(files: ConfigMap, { run, vm }: HookInput, wanted: NewObject<ConfigMap>): FilesAre {
  if (!isOfRun(files, run)) return 'foreign';
  if (isSame(contentOf(files), contentOf(wanted))) return 'own';
  const made = parseJson(files.data?.['workload.yml'] ?? '') as Partial<VirtualMachine> | null | undefined;
  return made?.metadata?.resourceVersion === vm.metadata.resourceVersion ? 'foreign' : 'stale';
}

type FilesAre = 'own' | 'stale' | 'foreign';

/** Returns the content in one form: the API server takes base64 of several lines, and returns it in one. */
const contentOf = ({ data, binaryData = {}, immutable }: Omit<ConfigMap, 'metadata'>): unknown => ({
  ...{ data, immutable },
  binary: Object.entries(binaryData).map(([file, content]) => [file, content.replaceAll(/[\r\n]/g, '')]),
});

/** Returns the service account of the hook's pod, in the namespace of the plan; undefined for its default one. */
export function accountOf({ spec: { serviceAccount } }: Hook, plan: Plan): string | undefined {
  const account = serviceAccount ?? plan.spec.serviceAccount;
  return account === '' ? undefined : account;
}

const RUNNER = ['/bin/entrypoint', 'ansible-runner', 'run', '/tmp/runner', '-p'];

/** Returns the VM without its own files, which may hold passwords. */
function withoutSecrets(vm: VirtualMachine): VirtualMachine {
  const { template } = vm.spec;
  const volumes = template.spec.volumes?.map(withoutContent);
  const { managedFields: _fields, annotations, ...metadata } = vm.metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations ?? {};
  return {
    ...vm,
    metadata: { ...metadata, annotations: others },
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, ...(volumes && { volumes }) } } },
  };
}

const SECRET_PARTS: readonly string[] = ['userData', 'userDataBase64', 'networkData', 'networkDataBase64'];

const withoutContent = (volume: Volume): Volume =>
  Object.fromEntries(
    Object.entries(volume)
      .filter(([source]) => source !== 'sysprep')
      .map(([source, content]) => [
        source,
        typeof content === 'object' && content !== null
          ? Object.fromEntries(Object.entries(content).filter(([part]) => !SECRET_PARTS.includes(part)))
          : content,
      ]),
  ) as Volume;
