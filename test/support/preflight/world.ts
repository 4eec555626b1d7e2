import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { ApiServer } from '../../../functions/kubernetes/cluster.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import type { Clusters } from '../fuzz/world.ts';
import { installClasses } from '../policies/pod-shapes.ts';
import { caseOf } from './cases.ts';
import { PreflightScene } from './scene.ts';

/** A real API server with its quota controller, KubeVirt's kinds and the project's, and no process of either. */
export interface PreflightWorld {
  /** Plays the case of a seed, and leaves nothing that another case sees. */
  play(seed: number): Promise<PreflightScene>;
  stop(): Promise<void>;
}

export async function startPreflightWorld(): Promise<PreflightWorld> {
  const controlPlane: ControlPlane = await freshControlPlane();
  // As long as the plugin waits: a busy machine is no answer of the API server.
  const options = { silenceMs: 60_000 };
  const admin = connect(controlPlane.adminKubeconfig, 'admin', options);
  await installKubeVirt(admin);
  await installClasses(admin);
  for (const crd of await render('config/crd')) await admin.create<KubernetesObject>(CRDS, crd);
  await untilServed(admin, VMMRQS);
  await untilServed(admin, CLUSTER_VMMRQS);
  const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
  const virtController = connect(await controlPlane.kubeconfigFor(account), 'virt-controller', options);
  const clusters: Clusters & { readonly admin: ApiServer } = { admin, virtController };
  return {
    play: async (seed) => {
      const scene = new PreflightScene(caseOf(seed), seed, clusters);
      try {
        await scene.build();
        await scene.decide();
        await scene.carryOut();
        await scene.carryOutSuggestion();
        return scene;
      } finally {
        await scene.clear();
      }
    },
    stop: () => controlPlane.stop(),
  };
}
