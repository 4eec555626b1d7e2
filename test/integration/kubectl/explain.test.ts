import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import {
  expectRightsMissing,
  kubeconfigOfViewer,
  runWith,
  type RunPlugin,
} from '../../support/environment/plugin.ts';
import { newTenant, headroomFor, type Tenant, type TenantOptions } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;
let plugin: RunPlugin;

beforeAll(async () => {
  environment = await startTestEnvironment();
  plugin = runWith(await kubeconfigOfViewer(environment));
});

afterAll(async () => {
  await environment.stop();
});

async function blockedIn(options: TenantOptions): Promise<Tenant> {
  const tenant = await newTenant(environment, options);
  await tenant.migrate();
  await tenant.untilBlocked();
  return tenant;
}

interface Explained {
  readonly verdict: string;
  readonly reason: string;
  readonly message: string;
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

const explained = async (namespace: string): Promise<{ code: number; said: Explained }> => {
  const { code, stdout, stderr } = await plugin('explain', 'mig0', '-n', namespace, '-o', 'json');
  expect(stderr).toBe('');
  return { code, said: JSON.parse(stdout) as Explained };
};

/** What `feasibility` logged about the namespace last. */
const decided = async (namespace: string): Promise<object> => {
  const isVerdict = (line: { readonly namespace?: string; readonly verdict?: string }): boolean =>
    line.namespace === namespace && line.verdict !== undefined;
  await environment.lines.until('feasibility has decided', () => environment.lines.items.some(isVerdict));
  const { verdict, reason, message } = environment.lines.items.findLast(isVerdict) ?? {};
  return { verdict, reason, message };
};

describe('explain, with the role to read', () => {
  test.each<[string, TenantOptions, string]>([
    ['without a VMMRQ', { name: 'explain-none', gives: null }, 'NoFit'],
    ['with too little', { name: 'explain-little', gives: { 'requests.cpu': '100m' } }, 'NoFit'],
  ])('says what feasibility decided: %s', async (_, options, verdict) => {
    await blockedIn(options);
    const { code, said } = await explained(options.name);
    expect(code).toBe(1);
    expect(said).toMatchObject(await decided(options.name));
    expect(said).toMatchObject({
      verdict,
      keys: [
        { quota: 'quota', key: 'pods', missing: '0' },
        {
          quota: 'quota',
          key: 'requests.cpu',
          hard: '1405m',
          used: '1005m',
          needed: '1005m',
          missing: '605m',
        },
        { quota: 'quota', key: 'requests.memory', needed: '1412828864' },
      ],
    });
  });

  test('exits with 0 where a raise helps', async () => {
    const name = 'explain-fits';
    const resume = environment.hold(name, 'mtq-lock');
    const tenant = await blockedIn({ name });
    const { code, said } = await explained(name);
    expect([code, said.verdict]).toEqual([0, 'FitsWithRaise']);
    expect(said.keys[1]).toMatchObject({ given: '1005m', givenBy: [{ vmmrq: 'more', amount: '1005m' }] });
    resume();
    await tenant.untilThrough();
    expect((await explained(name)).said).toMatchObject({ verdict: 'NotBlocked' });
  });

  test('names what the second migration waits for', async () => {
    const name = 'explain-two';
    const tenant = await newTenant(environment, { name, vms: 2, gives: headroomFor(0) });
    await Promise.all([tenant.migrate(0), tenant.migrate(1)]);
    await Promise.all([tenant.untilBlocked(0), tenant.untilBlocked(1)]);
    const { stdout } = await plugin('explain', 'mig1', '-n', name);
    expect(stdout.split('\n')).toContainEqual(
      expect.stringMatching(
        /^quota {3}requests\.cpu +2410m +2010m +(?:(?:0|1005m) +)?1005m +(?:605m|1610m) +0$/,
      ),
    );
  });
});

describe('explain', () => {
  test('without the rights lists them, and exits with 2', async () => {
    await expectRightsMissing(
      environment,
      ['explain', 'mig0', '-n', 'explain-none'],
      [
        'get virtualmachineinstancemigrations.kubevirt.io in namespace explain-none',
        'list pods in namespace explain-none',
      ],
    );
  });

  test.each([
    ['a migration', 'explain-none', /"none" not found/],
    ['a namespace', 'nowhere', /^error: there is no namespace nowhere\n$/],
  ])('exits with 2 for %s that does not exist', async (_, namespace, message) => {
    const { code, stdout, stderr } = await plugin('explain', 'none', '-n', namespace);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
