import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { connect } from '../../../functions/kubernetes/client.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { Barrier } from '../../support/fuzz/barrier.ts';
import { fuzzCases } from '../../support/fuzz/cases.ts';
import { cellsOf, classesOf, matrix, summaryOf } from '../../support/fuzz/tally.ts';
import { FuzzNamespace, OLD_KUBEVIRT, type Clusters } from '../../support/fuzz/world.ts';
import { installClasses } from '../../support/policies/pod-shapes.ts';

/*
 * Compares our verdict with the real API server in both directions: no lock without effect, and no missed raise that would
 * have helped. The oracle is a dry run of the real target pod as virt-controller, before and after the raise.
 * FUZZ_SEED replays a run, FUZZ_CASES enlarges it.
 */
jest.setTimeout(900_000);

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const CASES = Number(process.env['FUZZ_CASES'] ?? 600);
/** Namespaces in progress at the same time; few, because each verdict reads every migration of the cluster. */
const AT_ONCE = 24;
const EVALUATED_AT_ONCE = 4;

let controlPlane: ControlPlane;
let all: FuzzNamespace[] = [];

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  const admin = connect(controlPlane.adminKubeconfig);
  await installKubeVirt(admin);
  await installClasses(admin);
  for (const crd of await render('config/crd')) await admin.create<KubernetesObject>(CRDS, crd);
  await untilServed(admin, VMMRQS);
  await installOldKubeVirt(admin);
  const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
  const clusters = { admin, virtController: connect(await controlPlane.kubeconfigFor(account)) };
  // The test writes status.hard and status.used itself, because they are part of the case.
  await controlPlane.pauseControllerManager();
  all = await run(clusters);
});

afterAll(async () => {
  await controlPlane.stop();
});

async function installOldKubeVirt(admin: Cluster): Promise<void> {
  const { namespace, version } = OLD_KUBEVIRT;
  await admin.create(NAMESPACES, { metadata: { name: namespace } });
  const { object } = await admin.create(FULL_KUBEVIRTS, newKubeVirt({ namespace }));
  const status = { observedKubeVirtVersion: version };
  await admin.replace(FULL_KUBEVIRTS, { ...object, status }, { subresource: 'status' });
}

async function run(clusters: Clusters): Promise<FuzzNamespace[]> {
  const barrier = new Barrier(clusters);
  const namespaces = fuzzCases(CASES, SEED).map(
    (of, index) => new FuzzNamespace(of, `fuzz-${String(index)}`, clusters),
  );
  const each = async (
    what: string,
    act: (namespace: FuzzNamespace) => Promise<void>,
    atOnce = AT_ONCE,
  ): Promise<void> => {
    const started = performance.now();
    await isSerialized(namespaces, act, atOnce);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    process.stdout.write(`${seconds.padStart(6)} s  ${what}\n`);
  };
  await each('VMs start', (namespace) => namespace.start());
  await each('quotas and migrations are made', (namespace) => namespace.change());
  await barrier.wait();
  await each('the API server is asked, virt-controller tells', async (namespace) => {
    namespace.before = await namespace.ask();
    await namespace.tell();
  });
  await each('we decide', (namespace) => namespace.evaluate(), EVALUATED_AT_ONCE);
  await each('quotas are raised', (namespace) => namespace.raise());
  await barrier.wait();
  await each('the API server is asked again', async (namespace) => {
    namespace.after = await namespace.ask();
  });
  return namespaces;
}

async function isSerialized<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
  atOnce: number,
): Promise<void> {
  const left = items.values();
  const work = async (): Promise<void> => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

describe(`${String(CASES)} random namespaces, seed ${String(SEED)}`, () => {
  test('have no lock without effect, and no missed raise that would have helped', () => {
    process.stdout.write(`seed ${String(SEED)}\n${matrix(all)}\n`);
    const { lockedWithoutEffect, leftThoughItHelps } = cellsOf(all);
    expect(lockedWithoutEffect.map(summaryOf)).toEqual([]);
    expect(leftThoughItHelps.map(summaryOf)).toEqual([]);
  });

  test('have headroom exactly where our verdict says so', () => {
    const wrong = all.filter(
      ({ verdict, before }) => (verdict?.verdict === 'Fits') !== (before === undefined),
    );
    expect(wrong.map(summaryOf)).toEqual([]);
  });

  test('cover each correct cell at least 100 times, and each class of key and scope at least 20 times', () => {
    const { lockedAndHelped, leftRightly } = cellsOf(all);
    expect(lockedAndHelped.length).toBeGreaterThanOrEqual(100);
    expect(leftRightly.length).toBeGreaterThanOrEqual(100);
    const rare = Object.entries(classesOf(all)).filter(([, count]) => count < 20);
    expect(rare).toEqual([]);
  });
});
