import type { New } from '../../../../functions/kubernetes/cluster.ts';
import { keyOf } from '../client-go/cache.ts';
import { ANNOTATIONS, VM_FINALIZER, VMI_FINALIZER_OLD } from '../objects/names.ts';
import { FULL_VMIS, VMS } from '../objects/objects.ts';
import { Queue } from '../client-go/queue.ts';
import { toTime } from '../client-go/times.ts';
import type { Vm, Vmi } from '../objects/types.ts';
import { decideVm, type VmDecision, type VmView } from './phases.ts';
import { addressOf, vmOf, type World } from '../world.ts';

const WORKERS = 10;

/** virt-controller's part for VMs: each one's VMI by its run strategy, and its status. */
export class VmController {
  readonly #world: World;
  readonly #queue: Queue;

  constructor(world: World) {
    this.#world = world;
    this.#queue = new Queue({ workers: WORKERS, work: (key) => this.#reconcile(key), ...world });
    world.vms.onChange(({ object }) => this.#queue.add(keyOf(object)));
    world.vmis.onChange(({ object }) => this.#queue.add(keyOf(object)));
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(key: string): Promise<undefined> {
    const vm = this.#world.vms.get(key);
    if (vm === undefined) return;
    const named = this.#world.vmis.get(key);
    const vmi = named !== undefined && vmOf(named, this.#world.vms) !== undefined ? named : undefined;
    await this.#apply(decideVm({ vm, vmi, now: toTime(this.#world.clock.now()) }), { vm, vmi });
  }

  async #apply(decision: VmDecision, { vm, vmi }: Pick<VmView, 'vm' | 'vmi'>): Promise<void> {
    switch (decision.do) {
      case 'wait':
        return;
      case 'patch': {
        const { merge, subresource } = decision;
        const change = subresource === undefined ? { merge } : { merge, subresource };
        const { cluster, vms } = this.#world;
        vms.put((await cluster.patch(VMS, addressOf(vm), change)).object);
        return;
      }
      case 'create-vmi':
        return this.#create(vm);
      case 'halt':
        return this.#halt(vm, vmi);
      case 'patch-vmi':
        return this.#patchVmi(vmi, decision.merge);
      case 'delete-vmi':
        return this.#delete(vm, vmi);
    }
  }

  async #create(vm: Vm): Promise<void> {
    const { cluster, vmis, recorder } = this.#world;
    vmis.put((await cluster.create(FULL_VMIS, vmiOf(vm))).object);
    const message = `Started the virtual machine by creating the new virtual machine instance ${vm.metadata.name}`;
    recorder.record(vm, { type: 'Normal', reason: 'SuccessfulCreate', message });
  }

  /** KubeVirt writes runStrategy beside `running` where a VM has the older form, which virt-api refuses. */
  async #halt(vm: Vm, vmi: Vmi | undefined): Promise<void> {
    const { cluster, vms, hasVirtApi } = this.#world;
    // A PUT, as all of virt-controller's writes of a VM's spec.
    const { resourceVersion } = vm.metadata;
    const merge = { metadata: { resourceVersion }, spec: { runStrategy: 'Halted' } };
    const isRefused = hasVirtApi && vm.spec.running !== undefined;
    if (!isRefused) vms.put((await cluster.patch(VMS, addressOf(vm), { merge })).object);
    // Of a VMI that is over, whatever became of the VM (updateStatus in KubeVirt's watch/vm/vm.go).
    const finalizers = vmi?.metadata.finalizers?.filter((name) => name !== VM_FINALIZER) ?? [];
    await this.#patchVmi(vmi, { metadata: { finalizers } });
  }

  async #patchVmi(vmi: Vmi | undefined, merge: Record<string, unknown>): Promise<void> {
    if (vmi === undefined) return;
    const { cluster, vmis } = this.#world;
    vmis.put((await cluster.patch(FULL_VMIS, addressOf(vmi), { merge })).object);
  }

  async #delete(vm: Vm, vmi: Vmi | undefined): Promise<void> {
    if (vmi === undefined) return;
    const { cluster, recorder } = this.#world;
    const { uid } = vmi.metadata;
    await cluster.delete(FULL_VMIS, addressOf(vmi), { preconditions: { uid } });
    const message = `Stopped the virtual machine by deleting the virtual machine instance ${uid}`;
    recorder.record(vm, { type: 'Normal', reason: 'SuccessfulDelete', message });
  }
}

/** Instance types and preferences are not expanded. */
function vmiOf(vm: Vm): New<Vmi> {
  const { apiVersion = '', kind = '', metadata, spec } = vm;
  const { name, namespace, uid, generation = 0 } = metadata;
  const { labels, annotations } = spec.template.metadata ?? {};
  const isWaiting = spec.runStrategy === 'WaitAsReceiver';
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      annotations: {
        ...annotations,
        [ANNOTATIONS.vmGeneration]: String(generation),
        ...(isWaiting ? { [ANNOTATIONS.createMigrationTarget]: 'true' } : {}),
      },
      finalizers: [VM_FINALIZER, VMI_FINALIZER_OLD],
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, ...{ blockOwnerDeletion: true } }],
    },
    spec: spec.template.spec,
    status: {
      guestOSInfo: {},
      runtimeUser: 0,
      virtualMachineRevisionName: `revision-start-vm-${uid}-${String(generation)}`,
    } as Vmi['status'] & object,
  };
}
