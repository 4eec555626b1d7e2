import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { describeRight, type Right } from './rights-needed.ts';
import { missingRights } from './rights-missing.ts';

const toVm = (name: string, namespace = 'vms'): Right => ({
  ...{ verb: 'get', group: 'kubevirt.io', resource: 'virtualmachines' },
  ...{ namespace, name },
});

interface Asked {
  readonly missing: string[];
  readonly asked: number;
}

/** An API server that allows what `isAllowed` says; `counts` of its reviews. */
function apiServerThat(isAllowed: (right: Right) => boolean) {
  const counts = { asked: 0, open: 0, maxOpen: 0 };
  const create = async (
    _type: unknown,
    review: { spec: { resourceAttributes: Right } },
  ): Promise<unknown> => {
    counts.asked += 1;
    counts.open += 1;
    counts.maxOpen = Math.max(counts.maxOpen, counts.open);
    await turn();
    counts.open -= 1;
    return { object: { status: { allowed: isAllowed(review.spec.resourceAttributes) } } };
  };
  return { counts, create };
}

/** Asks an API server that allows what `isAllowed` says. */
async function ask(rights: readonly Right[], isAllowed: (right: Right) => boolean): Promise<Asked> {
  const { counts, create } = apiServerThat(isAllowed);
  const missing = await missingRights({ create: create as never }, { user: 'tom', groups: [] }, rights);
  return { missing: missing.map(describeRight), asked: counts.asked };
}

const many = Array.from({ length: 200 }, (_, index) => toVm(`vm-${String(index)}`));

test('200 VMs of a namespace take one review of a user who may read all of them', async () => {
  expect(await ask(many, ({ name }) => name === undefined)).toEqual({ missing: [], asked: 1 });
});

test('each VM is reviewed of a user who may read some of them', async () => {
  const { missing, asked } = await ask(many, ({ name }) => name !== undefined && name !== 'vm-7');
  expect([missing, asked]).toEqual([['get virtualmachines.kubevirt.io/vm-7 in namespace vms'], 201]);
});

test('the same right is reviewed once', async () => {
  const same = [toVm('web'), toVm('web'), toVm('web')];
  const missing = ['get virtualmachines.kubevirt.io/web in namespace vms'];
  expect(await ask(same, () => false)).toEqual({ missing, asked: 1 });
});

const everywhere = Array.from({ length: 200 }, (_, index) => toVm('web', `vms-${String(index)}`));

test('of 200 VMs in 200 namespaces, twenty reviews are open at once', async () => {
  const { counts, create } = apiServerThat(() => true);
  await missingRights({ create: create as never }, { user: 'tom', groups: [] }, everywhere);
  expect(counts).toEqual({ asked: 200, open: 0, maxOpen: 20 });
});

test.each([
  ['in 200 namespaces', everywhere, 20],
  ['in one namespace', many, 1 + 20],
])(
  'no more is reviewed of a user who lacks the first twenty of 200 rights %s',
  async (_what, rights, wanted) => {
    const { missing, asked } = await ask(rights, () => false);
    expect([missing, asked]).toEqual([rights.slice(0, 20).map(describeRight), wanted]);
  },
);
