/** What the dynamic loader needs to know of an ELF file. */
export interface Elf {
  /** e_machine: 62 is x86-64, 183 is AArch64. */
  readonly machine: number;
  /** Path of the dynamic loader; undefined for a library. */
  readonly interpreter: string | undefined;
  /** DT_NEEDED: sonames of the libraries it is linked with. */
  readonly needed: readonly string[];
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: bigint;
  readonly size: number;
}

/** Reads a 64-bit little-endian ELF file (man 5 elf); undefined when it is something else. */
export function readElf(file: Buffer): Elf | undefined {
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46) return undefined;
  if (file[4] !== 2 || file[5] !== 1) return undefined;
  const segments = segmentsOf(file);
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  return {
    machine: file.readUInt16LE(18),
    interpreter: interpreter === undefined ? undefined : textAt(file, interpreter.offset),
    needed: neededOf(file, segments),
  };
}

function segmentsOf(file: Buffer): Segment[] {
  const [table, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: file.readBigUInt64LE(at + 16),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function neededOf(file: Buffer, segments: readonly Segment[]): string[] {
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic === undefined) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: file.readBigUInt64LE(at), value: file.readBigUInt64LE(at + 8) };
  });
  const strings = entries.find(({ tag }) => tag === DT_STRTAB);
  if (strings === undefined) return [];
  const table = offsetOf(strings.value, segments);
  return entries
    .filter(({ tag }) => tag === DT_NEEDED)
    .map(({ value }) => textAt(file, table + Number(value)));
}

/** Where in the file that is which will be at this address in memory. */
function offsetOf(address: bigint, segments: readonly Segment[]): number {
  const holder = segments.find(
    (segment) =>
      segment.type === PT_LOAD &&
      address >= segment.address &&
      address < segment.address + BigInt(segment.size),
  );
  if (holder === undefined) throw new Error('an ELF file whose string table is in no segment');
  return holder.offset + Number(address - holder.address);
}

const textAt = (file: Buffer, offset: number): string =>
  file.toString('latin1', offset, file.indexOf(0, offset));
