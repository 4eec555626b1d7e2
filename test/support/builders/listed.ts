import fc from 'fast-check';
import type { Pod, PodAffinityTerm } from '../../../functions/domain/objects.ts';
import { LIMIT_RANGER } from '../../../functions/domain/sizing/limit-ranges.ts';
import {
  aContainer,
  aLauncher,
  aMigration,
  anAttachment,
  anInit,
  aTarget,
  inPhase,
  nudgedFor,
  ofVm,
  onNode,
  podPhase,
  podSpec,
  ready,
  withCondition,
  withPriority,
} from './kubevirt.ts';
import { annotated, beingDeleted, named } from './object.ts';

/** Random lists of one namespace, for tests that compare whole lists with trimmed ones. */

const anAmount = fc.constantFrom('100m', '1005m', '2');
const resources = fc.record({ cpu: anAmount }, { requiredKeys: [] });
const aTerm = fc.constantFrom<PodAffinityTerm>(
  {},
  { namespaces: ['other'] },
  { namespaceSelector: { matchLabels: {} } },
);

/** A source launcher with every field that quotas look at. */
const aSource = fc
  .record({
    container: fc.tuple(resources, resources).map(([requests, limits]) => aContainer(requests, limits)),
    inits: fc.array(
      fc
        .tuple(resources, fc.constantFrom(undefined, 'Always' as const))
        .map(([requests, restart]) => anInit(requests, restart)),
      { maxLength: 2 },
    ),
    spec: fc.record(
      {
        overhead: resources,
        resources: fc.record({ requests: resources }),
        activeDeadlineSeconds: fc.constant(60),
        priorityClassName: fc.constant('high'),
        affinity: fc.oneof(
          aTerm.map((term) => ({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } })),
          aTerm.map((podAffinityTerm) => ({
            podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm }] },
          })),
        ),
      },
      { requiredKeys: [] },
    ),
    defaulted: fc.boolean(),
    node: fc.constantFrom('node1', 'node2'),
    phase: fc.constantFrom('Running', 'Succeeded'),
  })
  .map(({ container, inits, spec, defaulted, node, phase }) =>
    aLauncher(
      'vm0',
      podSpec({ containers: [container], initContainers: inits, ...spec }),
      onNode(node),
      podPhase(phase),
      ...(defaulted
        ? [annotated(LIMIT_RANGER, 'LimitRanger plugin set: cpu request for container compute')]
        : []),
    ),
  );

const aMig = fc
  .record({
    // Mostly runs in which there is something to decide.
    phase: fc.constantFrom('Pending', 'Pending', 'Pending', 'Running', 'Succeeded'),
    vm: fc.constantFrom('vm0', 'vm0', 'vm0', 'vm1'),
    refused: fc.constantFrom(true, true, false),
    priority: fc.constantFrom('system-critical', 'user-triggered'),
    deleted: fc.constantFrom(false, false, false, true),
    nudged: fc.boolean(),
    name: fc.constantFrom('mig0', 'mig1', 'mig2'),
  })
  .map(({ phase, vm, refused, priority, deleted, nudged, name }) =>
    aMigration(
      named(name),
      inPhase(phase),
      ofVm(vm),
      withPriority(priority),
      ...(refused ? [] : [withCondition()]),
      ...(deleted ? [beingDeleted()] : []),
      ...(nudged ? [nudgedFor('token', '0')] : []),
    ),
  );

export const anyMigrations = fc.uniqueArray(aMig, {
  selector: ({ metadata: { name } }) => name,
  minLength: 1,
  maxLength: 3,
});

export const anyPods = fc
  .record({
    sources: fc.array(aSource, { minLength: 1, maxLength: 2 }),
    withTarget: fc.constantFrom('none', 'none', 'pending', 'ready'),
    withAttachment: fc.boolean(),
    others: fc.constantFrom<Pod[]>([], [aLauncher('vm1')]),
  })
  .map(({ sources, withTarget, withAttachment, others }) => {
    const [source] = sources;
    return [
      ...sources,
      ...others,
      ...(withTarget === 'none' ? [] : [aTarget(aMigration(), ...(withTarget === 'ready' ? [ready] : []))]),
      ...(withAttachment && source !== undefined ? [anAttachment(source)] : []),
    ];
  });
