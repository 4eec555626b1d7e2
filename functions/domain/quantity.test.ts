import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  atMostStored,
  describeAmountText,
  describeQuantity,
  formatAmount,
  formatQuantity,
  isHardQuantity,
  isMore,
  MalformedQuantity,
  parseQuantity,
  roundForPeople,
  sameQuantity,
  roundToStored,
} from './quantity.ts';

const NANO = 1_000_000_000n;
const KI = 1024n;

/** Kubernetes' own table (apimachinery v0.36, pkg/api/resource/quantity_test.go, TestQuantityParse): text, value × 10^exponent. */
const KUBERNETES: readonly (readonly [string, bigint, number])[] = [
  ...['0', '0n', '0u', '0m', '0Ki', '0k', '0Mi', '0M', '0Gi', '0G', '0Ti', '0T'].map(
    (zero) => [zero, 0n, 0] as const,
  ),
  ['1', 1n, 0],
  // Binary suffixes
  ['1Ki', KI, 0],
  ['8Ki', 8n * KI, 0],
  ['7Mi', 7n * KI ** 2n, 0],
  ['6Gi', 6n * KI ** 3n, 0],
  ['5Ti', 5n * KI ** 4n, 0],
  ['4Pi', 4n * KI ** 5n, 0],
  ['3Ei', 3n * KI ** 6n, 0],
  ['10Ti', 10n * KI ** 4n, 0],
  ['100Ti', 100n * KI ** 4n, 0],
  // Decimal suffixes
  ['5n', 5n, -9],
  ['4u', 4n, -6],
  ['3m', 3n, -3],
  ['9', 9n, 0],
  ['8k', 8n, 3],
  ['50k', 5n, 4],
  ['7M', 7n, 6],
  ['6G', 6n, 9],
  ['5T', 5n, 12],
  ['40T', 4n, 13],
  ['300T', 3n, 14],
  ['2P', 2n, 15],
  ['1E', 1n, 18],
  // Decimal exponents
  ['1E-3', 1n, -3],
  ['1e3', 1n, 3],
  ['1E6', 1n, 6],
  ['1e9', 1n, 9],
  ['1E12', 1n, 12],
  ['1e15', 1n, 15],
  ['1E18', 1n, 18],
  ['1e14', 1n, 14],
  ['1e13', 1n, 13],
  ['100.035k', 100035n, 0],
  // Things that look like floating point
  ['0.001', 1n, -3],
  ['0.0005k', 5n, -1],
  ['0.005', 5n, -3],
  ['0.05', 5n, -2],
  ['0.5', 5n, -1],
  ['0.00050k', 5n, -1],
  ['0.00500', 5n, -3],
  ['0.05000', 5n, -2],
  ['0.50000', 5n, -1],
  ['0.5e0', 5n, -1],
  ['0.5e-1', 5n, -2],
  ['0.5e-2', 5n, -3],
  ['10.035M', 10035n, 3],
  ['1.2e3', 12n, 2],
  ['1.3E+6', 13n, 5],
  ['1.40e9', 14n, 8],
  ['1.53E12', 153n, 10],
  ['1.6e15', 16n, 14],
  ['1.7E18', 17n, 17],
  ['9.01', 901n, -2],
  ['8.1k', 81n, 2],
  ['7.123456M', 7123456n, 0],
  ['6.987654321G', 6987654321n, 0],
  ['5.444T', 5444n, 9],
  ['40.1T', 401n, 11],
  ['300.2T', 3002n, 11],
  ['2.5P', 25n, 14],
  ['1.01E', 101n, 16],
  // Things that round: up, away from zero
  ['3.001n', 4n, -9],
  ['1.1E-9', 2n, -9],
  ['0.0000000001', 1n, -9],
  ['0.0000000005', 1n, -9],
  ['0.00000000050', 1n, -9],
  ['0.5e-9', 1n, -9],
  ['0.9n', 1n, -9],
  ['0.00000012345', 124n, -9],
  ['0.00000012354', 124n, -9],
  ['12E', 12n, 18],
  // Fractional binary
  ['100.035Ki', 10243584n, -2],
  ['0.5Mi', KI ** 2n / 2n, 0],
  ['0.05Gi', 536870912n, -1],
  ['0.025Ti', 274877906944n, -1],
  // Things written by trolls
  ['0.000000000001Ki', 2n, -9],
  ['.001', 1n, -3],
  ['.0001k', 100n, -3],
  ['1.', 1n, 0],
  ['1.G', 1n, 9],
  // Ours: exponents of any length
  ['1e0003', 1n, 3],
  ['1e4294967299', 1n, 3],
  ['1e1002', 1n, 1_000],
];

const inNano = (value: bigint, exponent: number): bigint => value * 10n ** BigInt(9 + exponent);

describe('parseQuantity', () => {
  test.each(KUBERNETES)('%s equals Kubernetes’ value, signs included', (text, value, exponent) => {
    expect(parseQuantity(text)).toBe(inNano(value, exponent));
    expect(parseQuantity(`+${text}`)).toBe(inNano(value, exponent));
    expect(parseQuantity(`-${text}`)).toBe(-inNano(value, exponent));
  });

  test.each(['9Ei', '9223372036854775807Ki'])(
    '%s stays exact, where Kubernetes cuts it off at 2^63 - 1',
    (text) => {
      expect(parseQuantity(text)).toBeGreaterThan((2n ** 63n - 1n) * NANO);
    },
  );

  test('a text of more than a hundred characters is no quantity: its value could take minutes', () => {
    expect(parseQuantity('9'.repeat(100))).toBe((10n ** 100n - 1n) * NANO);
    for (const text of ['9'.repeat(101), `0.${'0'.repeat(99)}`, '9'.repeat(200_000)]) {
      expect(() => parseQuantity(text)).toThrow(MalformedQuantity);
      expect(isHardQuantity(text)).toBe(false);
    }
  });

  test.each([
    ...['', '1.1.M', '1+1.0M', '0.1mi', '0.1am', 'aoeu', '.5i', '1i', '-3.01i', '-3.01e-', ' 1', '1 '],
    ...['.', '-', '+-1', '1e', '1 Gi', '1gi', '1K', '0x10', '1,5', 'NaN', 'Infinity', '1e3k', '1_000', '１'],
  ])("'%s' is no quantity", (text) => {
    expect(() => parseQuantity(text)).toThrow(MalformedQuantity);
    expect(isHardQuantity(text)).toBe(false);
  });
});

/** Any text that Kubernetes reads. */
const quantityText = fc
  .tuple(
    fc.constantFrom('', '-', '+'),
    fc.oneof(
      fc.nat().map(String),
      fc.tuple(fc.nat(), fc.stringMatching(/^\d{0,12}$/)).map(([whole, part]) => `${whole}.${part}`),
      fc.stringMatching(/^\.\d{1,12}$/),
    ),
    fc.oneof(
      fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'),
      fc.integer({ min: -12, max: 24 }).map((exponent) => `e${exponent}`),
      fc.nat({ max: 24 }).map((exponent) => `E+${exponent}`),
    ),
  )
  .map((parts) => parts.join(''));

describe('formatQuantity', () => {
  test.each([
    ['0', 0n],
    ['1', NANO],
    ['3614838784', 3614838784n * NANO],
    ['2605m', 2605n * 1_000_000n],
    ['-1500m', -1500n * 1_000_000n],
    ['7u', 7_000n],
    ['1000001n', 1_000_001n],
    // Longer than a number is exact.
    ['9007199254740993', 9007199254740993n * NANO],
  ])('%s', (want, amount) => {
    expect(formatQuantity(amount)).toBe(want);
  });

  test('is parsed back to the same amount, whatever it was made from', () => {
    fc.assert(
      fc.property(quantityText, (text) => {
        const amount = parseQuantity(text);
        expect(parseQuantity(formatQuantity(amount))).toBe(amount);
      }),
    );
  });

  test('any amount of billionths is parsed back exactly (F28)', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }), (amount) => {
        expect(parseQuantity(formatQuantity(amount))).toBe(amount);
      }),
    );
  });
});

test('an amount finer than a billionth is rounded away from zero, by less than a billionth', () => {
  fc.assert(
    fc.property(fc.nat(), fc.stringMatching(/^\d{10,18}$/), (whole, fraction) => {
      const scale = 10n ** BigInt(fraction.length);
      const exact = BigInt(`${whole}${fraction}`) * NANO;
      const amount = parseQuantity(`${whole}.${fraction}`) * scale;
      expect(amount).toBeGreaterThanOrEqual(exact);
      expect(amount - exact).toBeLessThan(scale);
      expect(parseQuantity(`-${whole}.${fraction}`) * scale).toBe(-amount);
    }),
  );
});

describe('sameQuantity', () => {
  test.each([
    // Client texts as the API server gives them back (canonical).
    ['3614838k', '3614838e3', true],
    ['2041974464', '2041974464', true],
    ['1Gi', '1024Mi', true],
    ['1', '1000m', true],
    ['0.5', '500m', true],
    ['1Gi', '1G', false],
    ['1', '1001m', false],
    ['none', 'none', true],
    ['none', '1', false],
    ['1', 'none', false],
  ])('%s and %s: %s', (one, other, want) => {
    expect(sameQuantity(one, other)).toBe(want);
    expect(sameQuantity(other, one)).toBe(want);
  });
});

test.each([
  ['0', true],
  ['1405m', true],
  ['+1', true],
  ['.5', true],
  ['-1', false],
  ['-0', false],
  ['many', false],
])('a quota may have %s: %s', (text, want) => {
  expect(isHardQuantity(text)).toBe(want);
});

test.each([
  ['requests.memory', '1500Mi', '1500Mi'],
  ['requests.memory', '2Gi', '2Gi'],
  ['requests.memory', '2Ti', '2Ti'],
  ['limits.memory', '3614838784', '3530116Ki'],
  ['limits.memory', '3614838785', '3614838785'],
  ['requests.hugepages-2Mi', '4Mi', '4Mi'],
  ['requests.ephemeral-storage', '1Ki', '1Ki'],
  ['requests.memory', '0', '0'],
  ['requests.memory', '500m', '500m'],
  ['requests.cpu', '2048', '2048'],
  ['requests.cpu', '1200m', '1200m'],
  ['pods', '1', '1'],
  ['gold.storageclass.storage.k8s.io/persistentvolumeclaims', '2048', '2048'],
  ['gold.storageclass.storage.k8s.io/requests.storage', '2048Mi', '2Gi'],
  ['requests.volcano.sh/vgpu-memory', '1024', '1024'],
])('programs read %s=%s as %s', (key, text, want) => {
  expect(formatAmount(key, parseQuantity(text))).toBe(want);
});

describe('people read', () => {
  test.each([
    ['limits.memory', '678174080', '647Mi'],
    ['limits.memory', '3614838784', '3.37Gi'],
    ['memory', '1073741825', '1.01Gi'],
    ['memory', '1023Gi', '1023Gi'],
    ['memory', '1073741823', '1024Mi'],
    ['requests.memory', '10000Mi', '9.77Gi'],
    ['requests.memory', '1500Mi', '1500Mi'],
    ['requests.memory', '9999', '9999'],
    ['requests.memory', '1025', '1025'],
    ['requests.memory', '0', '0'],
    ['requests.hugepages-2Mi', '4Mi', '4Mi'],
    ['requests.ephemeral-storage', '1G', '954Mi'],
    ['gold.storageclass.storage.k8s.io/requests.storage', '10737418241', '10.1Gi'],
    ['requests.cpu', '510m', '510m'],
    ['requests.cpu', '2605m', '2605m'],
    ['limits.cpu', '12505m', '12.6'],
    ['limits.cpu', '100250m', '101'],
    ['cpu', '2048', '2048'],
    ['pods', '12345', '12345'],
    ['count/pods', '123456', '123456'],
    ['requests.nvidia.com/gpu', '1024', '1024'],
    ['requests.volcano.sh/vgpu-memory', '12288', '12288'],
    ['volcano.sh/vgpu-memory', '1024', '1024'],
    ['requests.deviceclass.resource.kubernetes.io/fpga.cpu', '12345', '12345'],
    ['gold.storageclass.storage.k8s.io/persistentvolumeclaims', '2048', '2048'],
  ])('%s=%s as %s', (key, text, want) => {
    expect(describeQuantity(key, parseQuantity(text))).toBe(want);
    expect(describeAmountText(key, text)).toBe(want);
  });

  test('as much as it is, or up to a hundredth more', () => {
    const keys = fc.constantFrom('requests.memory', 'requests.cpu', 'pods');
    fc.assert(
      fc.property(keys, fc.bigInt({ min: 1n, max: 2n ** 62n }), (key, count) => {
        const amount = key === 'requests.cpu' ? count * 1_000_000n : count * NANO;
        const read = parseQuantity(describeQuantity(key, amount));
        expect(read).toBeGreaterThanOrEqual(amount);
        expect(read * 100n).toBeLessThanOrEqual(amount * 101n);
      }),
    );
  });

  test('a text that is no quantity as it is', () => {
    expect(describeAmountText('requests.cpu', 'many')).toBe('many');
  });
});

test.each([
  ['requests.memory', '678174080', '647Mi'],
  ['requests.memory', '647Mi', '647Mi'],
  ['requests.cpu', '605m', '610m'],
  ['requests.cpu', '1', '1'],
  ['pods', '1', '1'],
  ['gold.storageclass.storage.k8s.io/requests.storage', '10485761', '11Mi'],
  ['requests.volcano.sh/vgpu-memory', '16', '16'],
  ['requests.tencent.com/vcuda-memory', '256', '256'],
  ['requests.example.com/fast-storage', '3', '3'],
])('to give %s=%s a person would write %s', (key, text, want) => {
  expect(formatAmount(key, roundForPeople(key, parseQuantity(text)))).toBe(want);
});

describe('isMore', () => {
  test.each([
    ['2', '1999m', true],
    ['2', '2.0', false],
    ['1e1002', '1e0003', true],
    ['many', '1', false],
    ['1', 'few', false],
  ])('%s, %s: %s', (one, other, want) => {
    expect(isMore(one, other)).toBe(want);
  });
});

describe('what the API server stores: whole thousandths', () => {
  test.each([
    ['533333334n', '534m'],
    ['534m', '534m'],
    ['1n', '1m'],
    ['0', '0'],
    ['1412828864', '1412828864'],
  ])('%s: stored as %s', (text, stored) => {
    expect(formatQuantity(roundToStored(parseQuantity(text)))).toBe(stored);
  });

  test.each([
    ['16Ei', '9223372036854775807'],
    ['9223372036854775807', '9223372036854775807'],
    ['8E', '8000000000000000000'],
  ])('%s: at most %s', (text, stored) => {
    expect(formatQuantity(atMostStored(parseQuantity(text)))).toBe(stored);
  });
});
