import { expect, test } from '@jest/globals';
import { describeRight, type Right } from './rights-needed.ts';
import { missingRights } from './rights-missing.ts';

const toVm = (name: string, namespace = 'vms'): Right => ({
  ...{ verb: 'get', group: 'kubevirt.io', resource: 'virtualmachines' },
  ...{ namespace, name },
});

/** Asks an API server that allows what `isAllowed` says. */
async function ask(
  rights: readonly Right[],
  isAllowed: (right: Right) => boolean,
): Promise<{ missing: string[]; asked: number }> {
  let asked = 0;
  const create = (_type: unknown, review: { spec: { resourceAttributes: Right } }): Promise<unknown> => {
    asked += 1;
    const allowed = isAllowed(review.spec.resourceAttributes);
    return Promise.resolve({ object: { status: { allowed } } });
  };
  const missing = await missingRights({ create: create as never }, { user: 'tom', groups: [] }, rights);
  return { missing: missing.map(describeRight), asked };
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
