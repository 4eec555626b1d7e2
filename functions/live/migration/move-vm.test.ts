import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../test/support/builders/live-run.ts';
import {
  aHook,
  aNetworkMap,
  aPlan,
  aPlanMigration,
  aRecord,
  aStorageMap,
  aVm,
  itsVmi,
  RUN,
} from '../../../test/support/builders/live.ts';
import { annotated, metadata, NOW, seconds } from '../../../test/support/builders/object.ts';
import type { PlanVm, VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import type { Hosts, Right } from '../plan/rights-needed.ts';
import { withRecord, type RunRecord } from '../run/record.ts';
import type { Stop } from '../run/snapshot.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { ApiServer, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { moveVm, type RunContext } from './move-vm.ts';

/** A clock by which one round of reading, deciding and writing takes longer than one event may. */
function slowRounds(): Clock {
  let elapsed = 0;
  return { elapsed: () => (elapsed += 9_000) } as unknown as Clock;
}

const DATE = new Date(NOW);
const notFound = (name: string): ApiError =>
  new ApiError(
    'the request',
    { code: 404, reason: 'NotFound', message: 'not found', details: { name } },
    DATE,
  );
const forbidden = (message: string): ApiError =>
  new ApiError('the request', { code: 403, reason: 'Forbidden', message }, DATE);

interface Review extends KubernetesObject {
  spec: { resourceAttributes: Right };
}

/**
 * An API server with these objects, by kind and name; `refuses`: its answer to every write; `lacks`: rights that the user does not have.
 */
class Stored {
  readonly writes: string[] = [];
  readonly #objects: readonly KubernetesObject[];
  readonly #refuses: string | undefined;
  /** Kinds that may not be read. */
  readonly #hidden: readonly string[];
  readonly #lacks: readonly string[];
  /** An object that is there from the second reading on. */
  readonly #later: KubernetesObject | undefined;
  #isLater = false;

  constructor(
    id: string,
    objects: readonly KubernetesObject[],
    {
      refuses,
      hidden = [],
      lacks = [],
      later,
    }: Partial<Pick<Given, 'refuses' | 'hidden' | 'lacks' | 'later'>> = {},
  ) {
    this.#later = later;
    this.#lacks = lacks;
    this.#hidden = hidden;
    this.#objects = [...objects, { kind: 'Namespace', metadata: { ...metadata('kube-system'), uid: id } }];
    this.#refuses = refuses;
  }

  get api(): ApiServer {
    const get = ({ kind }: ResourceType, { name }: { readonly name: string }): Promise<unknown> => {
      if (this.#hidden.includes(kind)) return Promise.reject(forbidden(`cannot get ${kind}`));
      const isChanged = this.#isLater && kind === this.#later?.kind;
      if (kind === this.#later?.kind) this.#isLater = true;
      const object = isChanged
        ? this.#later
        : this.#objects.find((one) => one.kind === kind && one.metadata.name === name);
      return object === undefined ? Promise.reject(notFound(name)) : Promise.resolve({ object, date: DATE });
    };
    const write =
      (verb: string) =>
      ({ kind }: ResourceType, object: KubernetesObject): Promise<unknown> => {
        if (kind === 'SubjectAccessReview') {
          const { verb: may, resource, name } = (object as Review).spec.resourceAttributes;
          const right = `${may} ${resource}${name === undefined ? '' : `/${name}`}`;
          const isLacking = this.#lacks.some((one) => one === right || one.startsWith(`${right}/`));
          return Promise.resolve({ object: { status: { allowed: !isLacking } } });
        }
        this.writes.push(`${verb} ${kind} ${object.metadata.name}`);
        return this.#refuses === undefined
          ? Promise.resolve({ object })
          : Promise.reject(forbidden(this.#refuses));
      };
    const list = ({ kind }: ResourceType): Promise<unknown> =>
      this.#hidden.includes(kind)
        ? Promise.reject(forbidden(`cannot list ${kind}`))
        : Promise.resolve({ items: [], date: DATE, resourceVersion: '1' });
    const remove = (type: ResourceType, at: KubernetesObject['metadata']): Promise<unknown> =>
      write('delete')(type, { metadata: at });
    const writes = { create: write('create'), replace: write('replace'), delete: remove };
    return { get, list, ...writes } as unknown as ApiServer;
  }
}

const migration = aPlanMigration(
  (one) => ({ ...one, metadata: { ...one.metadata, uid: RUN.migration } }),
  annotated(LIVE_ANNOTATION.requester, JSON.stringify({ user: 'tom', groups: [] })),
);
const changed = { ...migration, metadata: { ...migration.metadata, resourceVersion: 'later' } };
const ENTRY: PlanVm = { id: RUN.vm, namespace: 'vms', name: 'web' };

interface Given {
  readonly vm?: VirtualMachine;
  readonly now?: typeof migration;
  readonly shown?: VmStatus;
  readonly stop?: Stop;
  readonly refuses?: string | undefined;
  readonly lacks?: readonly string[];
  readonly entry?: PlanVm;
  readonly hosts?: Partial<Hosts>;
  /** Namespaces on the target. */
  readonly namespaces?: readonly string[];
  readonly hidden?: readonly string[];
  readonly hiddenOnSource?: readonly string[];
  /** The VM on the target, still there after it was deleted. */
  readonly receiver?: VirtualMachine;
  /** The VM on the source, from the second reading on. */
  readonly later?: VirtualMachine | undefined;
}

const DEFAULTS = {
  ...{ vm: aVm(), now: migration, entry: ENTRY, namespaces: ['target'] },
  ...{ shown: undefined, stop: undefined, refuses: undefined },
  ...{ hosts: {}, hidden: [], hiddenOnSource: [], lacks: [] },
};

/** Returns the result of one event, and the writes on the source and the target before it. */
async function moved(given: Given): Promise<unknown[]> {
  const all = { ...DEFAULTS, ...given };
  const { vm, now, shown, stop, refuses, hosts, namespaces, hidden, hiddenOnSource, lacks, entry } = all;
  const { later, receiver } = given;
  const secret = { kind: 'Secret', apiVersion: 'v1', metadata: { ...metadata('init'), namespace: 'vms' } };
  const [hub, source, target] = [
    new Stored('hub', [now, aHook()], { lacks }),
    new Stored('source', [vm, itsVmi(), secret], { refuses, hidden: hiddenOnSource, later }),
    new Stored(
      'target',
      [
        ...namespaces.map((name) => ({ kind: 'Namespace', metadata: metadata(name) })),
        ...(receiver === undefined ? [] : [receiver]),
      ],
      { hidden },
    ),
  ];
  const run: RunContext = {
    plan: aPlan((plan) => ({ ...plan, metadata: { ...plan.metadata, uid: RUN.plan } })),
    migration,
    editRefusal: () => Promise.resolve(undefined),
    maps: () => Promise.resolve({ storage: aStorageMap(), networks: aNetworkMap() }),
    settings: { transferMs: undefined, sourceMs: 3_600_000, allowOverQuota: false, localMigration: false },
    blockers: [],
    hosts: { isSource: false, isTarget: false, ...hosts },
    ids: { source: 'source', target: 'target' },
    hubId: () => Promise.resolve('hub'),
    now: NOW,
    clusters: { hub: hub.api, source: source.api, target: target.api },
    providers: { source: undefined, destination: undefined },
  };
  const { decision, requeue } = await moveVm({ entry, shown, stop }, run, slowRounds());
  const what =
    decision.kind === 'write'
      ? `write${requeue ? ', and more is due' : ''}`
      : `${decision.kind} ${decision.reason}`;
  return [
    `${what}: ${decision.message}`,
    [...new Set([hub, source, target].flatMap(({ writes }) => writes))],
  ];
}

const RECORDING = 'replace VirtualMachine web';

describe('a VM without a record', () => {
  test('begins, however slow the clusters are, and goes on in the next event', async () => {
    const message = 'write, and more is due: recording the run on the VM';
    expect(await moved({})).toEqual([message, [RECORDING]]);
  });

  test('does not begin again, where the Migration shows its end by now', async () => {
    const message = expect.stringMatching(/^wait ClusterUnknown: .*the Migration has changed/);
    expect(await moved({ now: changed })).toEqual([message, []]);
  });

  test('goes on with its record, whatever the Migration shows by now', async () => {
    expect((await moved({ vm: withRecord(aVm(), aRecord()), now: changed }))[1]).toEqual([RECORDING]);
  });
});

describe('the VM that waits on the target', () => {
  const at = seconds(0);
  const end = { as: 'Canceled', reason: 'UserRequested', message: 'canceled', at, proved: true } as const;
  const vm = withRecord(
    aVm(),
    aRecord((record) => ({ ...record, end })),
  );
  const begun = withRecord(aVm(), aRecord());
  const asLater = (one: VirtualMachine): VirtualMachine => ({
    ...one,
    metadata: { ...one.metadata, resourceVersion: 'later' },
  });
  const DELETE = 'delete VirtualMachine web';

  test('is deleted, where its run goes back', async () => {
    expect((await moved({ vm, receiver: aReceiver() }))[1]).toEqual([DELETE]);
  });

  test('is deleted, where KubeVirt has written the source VM since, and its record is as read', async () => {
    expect((await moved({ vm, later: asLater(vm), receiver: aReceiver() }))[1]).toEqual([DELETE]);
  });

  test('is not, where the VM has begun again since its record was read', async () => {
    expect((await moved({ vm, later: asLater(begun), receiver: aReceiver() }))[1]).not.toContain(DELETE);
  });
});

const showingRefused = (second: number): VmStatus =>
  ({
    ...ENTRY,
    conditions: [{ type: 'Blocked', status: 'True', reason: 'Refused', lastTransitionTime: seconds(second) }],
  }) as unknown as VmStatus;

describe('a write that is refused', () => {
  test.each<[string, number, RegExp]>([
    ['is tried again', -60, /^wait Refused: replace of VirtualMachine web on the source is refused: .*no$/],
    ['ends the run after a quarter of an hour', -901, /^ended Refused: .*no$/],
  ])('%s', async (_what, since, wanted) => {
    const outcome = await moved({ shown: showingRefused(since), refuses: 'no' });
    expect(outcome).toEqual([expect.stringMatching(wanted), [RECORDING]]);
  });
});

const { spec } = aVm();
const volumes = [{ name: 'init', cloudInitNoCloud: { secretRef: { name: 'init' } } }];
const template = { ...spec.template, spec: { ...spec.template.spec, volumes } };
const NAMES_SECRET: VirtualMachine = { ...aVm(), spec: { ...spec, template } };

test('a run whose end is refused too says how it is given up', async () => {
  const shown = showingRefused(-901);
  const stop: Stop = { reason: 'UserRequested', message: 'canceled' };
  const wanted =
    /^wait Refused: replace of .*: no\. .* or kubectl annotate migrations\S+ migration .*break-glass=/;
  expect(await moved({ vm: withRecord(aVm(), aRecord()), shown, stop, refuses: 'no' })).toEqual([
    expect.stringMatching(wanted),
    [RECORDING],
  ]);
});

describe('a target namespace in which the account may read no Secret', () => {
  const hidden = ['Secret', 'ConfigMap'];
  const vm = withRecord(NAMES_SECRET, aRecord());
  const at = seconds(0);
  const canceled = aRecord((record) => ({
    ...record,
    end: { as: 'Canceled', reason: 'UserRequested', message: 'canceled', at, proved: true },
  }));
  const attempted = (record: RunRecord): RunRecord => ({ ...record, attempt: 1 });
  const APPLY = /^wait Refused: .*kubectl apply -n target -k config\/components\/live-migration\/namespace$/;

  test.each<[string, Given, readonly [RegExp, string[]]]>([
    [
      'because it is not there: the run begins',
      { vm: NAMES_SECRET, namespaces: [] },
      [/record/, [RECORDING]],
    ],
    ['because it is not there: it is made', { vm, namespaces: [] }, [/./, ['create Namespace target']]],
    ['the run begins', { vm: NAMES_SECRET }, [/record/, [RECORDING]]],
    ['the run says what to do', { vm }, [APPLY, []]],
    ['a run that is canceled ends', { vm: withRecord(NAMES_SECRET, canceled) }, [/^ended UserRequested/, []]],
    [
      'not one that has copied Secrets',
      { vm: withRecord(NAMES_SECRET, attempted(canceled)) },
      [/^wait ClusterUnknown: .*cannot list/, []],
    ],
    [
      'one of a VM that names none ends',
      { vm: withRecord(aVm(), attempted(canceled)) },
      [/^ended UserRequested/, []],
    ],
  ])('%s', async (_what, given, [wanted, writes]) => {
    const [what, written] = await moved({ hidden, ...given });
    expect(what).toMatch(wanted);
    expect(written).toEqual(writes);
  });
});

describe('a namespace of the source in which the account may read no Secret', () => {
  const APPLY = /^wait Refused: .*kubectl apply -n vms -k config\/components\/live-migration\/namespace$/;
  const vm = withRecord(NAMES_SECRET, aRecord());
  const shown = showingRefused(-901);
  const stop: Stop = { reason: 'UserRequested', message: 'canceled' };

  test.each<[string, Given, readonly [RegExp, string[]]]>([
    ['the run begins', { vm: NAMES_SECRET }, [/record/, [RECORDING]]],
    ['the run says what to do', { vm }, [APPLY, []]],
    ['the run ends after a quarter of an hour', { vm, shown }, [/that the run ends: too late/, [RECORDING]]],
    ['a cancel ends it at once', { vm, stop }, [/that the run ends: canceled/, [RECORDING]]],
    [
      'a cancel ends one that has not begun',
      { vm: NAMES_SECRET, stop },
      [/that the run ends: canceled/, [RECORDING]],
    ],
    [
      'the run of a VM that names none goes on',
      { vm: withRecord(aVm(), aRecord()) },
      [/^(?!wait)/, [RECORDING]],
    ],
  ])('%s', async (_what, given, [wanted, writes]) => {
    const [what, written] = await moved({ hiddenOnSource: ['Secret', 'ConfigMap'], ...given });
    expect(what).toMatch(wanted);
    expect(written).toEqual(writes);
  });

  test.each(['ControllerRevision', 'VirtualMachineInstancetype'])(
    'nor a %s, by an older role: the run says what to do',
    async (kind) => {
      const revision = kind === 'ControllerRevision' ? { revisionName: 'web-small-1' } : {};
      const instancetype = { kind: 'VirtualMachineInstancetype', name: 'small', ...revision };
      const typed = { ...aVm(), spec: { ...spec, instancetype } };
      expect(await moved({ vm: withRecord(typed, aRecord()), hiddenOnSource: [kind] })).toEqual([
        expect.stringMatching(
          /^wait Refused: .*kubectl apply -k config\/components\/live-migration\/member$/,
        ),
        [],
      ]);
    },
  );
});

describe('a Secret that the VM names', () => {
  const vm = withRecord(NAMES_SECRET, aRecord());

  test('is copied', async () => {
    expect((await moved({ vm }))[1]).toEqual(['create Secret init']);
  });

  test('is not, of the hub’s own cluster, where the user may not read it', async () => {
    expect(await moved({ vm, hosts: { isSource: true }, lacks: ['get secrets/init'] })).toEqual([
      'wait Refused: User "tom" cannot get secrets/init in namespace vms.',
      [],
    ]);
  });

  test('is not, into the hub’s own cluster, where the user may not create one', async () => {
    expect(await moved({ vm, hosts: { isTarget: true }, lacks: ['create secrets'] })).toEqual([
      'wait Refused: User "tom" cannot create secrets in namespace target.',
      [],
    ]);
  });
});

test('a namespace that is gone by now is not made in the hub’s own cluster, where the user may not make one', async () => {
  const vm = withRecord(aVm(), aRecord());
  expect(
    await moved({ vm, namespaces: [], hosts: { isTarget: true }, lacks: ['create namespaces'] }),
  ).toEqual(['wait Refused: User "tom" cannot create namespaces.', []]);
  expect((await moved({ vm, namespaces: [] }))[1]).toEqual(['create Namespace target']);
});

describe('a record that names another namespace than the Plan', () => {
  const elsewhere = aRecord((record) => ({ ...record, target: { ...record.target, namespace: 'other' } }));
  const refused = (what: string): unknown[] => [
    'wait Refused: the record of the VM names namespace other of the target, and the Plan target: one of them was changed, so ' +
      `${what} is not made`,
    [],
  ];

  test('has nothing made there, whatever the user may do', async () => {
    const secret = withRecord(NAMES_SECRET, elsewhere);
    expect(await moved({ vm: secret, namespaces: ['other'] })).toEqual(refused('Secret init'));
    expect(await moved({ vm: withRecord(aVm(), elsewhere) })).toEqual(refused('Namespace other'));
  });

  test('does not keep its run from its end', async () => {
    const stop: Stop = { reason: 'UserRequested', message: 'canceled' };
    expect((await moved({ vm: withRecord(aVm(), elsewhere), stop }))[1]).toEqual([RECORDING]);
  });
});

describe('what the user may not do by now, as where the Plan was replaced by another one', () => {
  const vm = withRecord(aVm(), aRecord());
  const hooked = { ...ENTRY, hooks: [{ step: 'PreHook' as const, hook: { name: 'hook' } }] };
  const stop: Stop = { reason: 'UserRequested', message: 'canceled' };
  const canceled = [expect.stringMatching(/^write.*that the run ends: canceled/), [RECORDING]];

  test.each<[string, Given, string]>([
    [
      'no VM begins',
      { lacks: ['use providers/source'] },
      'use providers.forklift.konveyor.io/source in namespace tenant',
    ],
    [
      'nor by the other Provider',
      { lacks: ['use providers/destination'] },
      'use providers.forklift.konveyor.io/destination in namespace tenant',
    ],
    [
      'nor from the hub’s own cluster',
      { hosts: { isSource: true }, lacks: ['update virtualmachines/web'] },
      'update virtualmachines.kubevirt.io/web in namespace vms',
    ],
    [
      'no record is written there that the VM does not have',
      { stop, hosts: { isSource: true }, lacks: ['update virtualmachines/web'] },
      'update virtualmachines.kubevirt.io/web in namespace vms',
    ],
    [
      'no VM begins into it',
      { hosts: { isTarget: true }, lacks: ['create virtualmachines'] },
      'create virtualmachines.kubevirt.io in namespace target',
    ],
    [
      'nothing is made on a cluster',
      { vm: withRecord(NAMES_SECRET, aRecord()), lacks: ['use providers/destination'] },
      'use providers.forklift.konveyor.io/destination in namespace tenant',
    ],
    ['no hook runs', { vm, entry: hooked, lacks: ['create pods'] }, 'create pods in namespace tenant'],
    [
      'nor another one',
      { vm, entry: hooked, lacks: ['get hooks/hook'] },
      'get hooks.forklift.konveyor.io/hook in namespace tenant',
    ],
  ])('%s', async (_what, given, right) => {
    expect(await moved(given)).toEqual([`wait Refused: User "tom" cannot ${right}.`, []]);
  });

  test.each([
    ['what is in a namespace that only the record names', ['create virtualmachines'], true],
    ['nothing where the user may make VMs there', [], false],
  ])('the run does not say %s', async (_what, lacks, isHidden) => {
    const record = aRecord();
    const forged = withRecord(NAMES_SECRET, { ...record, target: { ...record.target, namespace: 'victim' } });
    const [decision] = await moved({ vm: forged, hosts: { isTarget: true }, lacks });
    const hidden = expect.stringMatching(/names another namespace.*cannot create virtualmachines/);
    expect(decision).toEqual(
      isHidden ? hidden : expect.not.stringMatching(/another namespace of the target than/),
    );
  });

  test('does not keep a run from its end', async () => {
    const lacks = ['use providers/source', 'use providers/destination'];
    expect(await moved({ vm, stop, lacks })).toEqual(canceled);
    expect(await moved({ stop, lacks })).toEqual(canceled);
  });
});
