import type { Platform } from '../../image/platforms.ts';

/*
 * Every pod has one more container, which holds its namespaces and does nothing: the "pause" image. It cannot be pulled
 * here, so it is made: one program of a few machine instructions, which sleeps until it is killed.
 */

type Code = Readonly<Record<Platform['architecture'], readonly number[]>>;

const CODE: Code = {
  // again: mov eax, 34 (pause); syscall; jmp again
  amd64: [0xb8, 0x22, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7],
  // again: mov x0..x4, #0; mov x8, #73 (ppoll: AArch64 has no pause); svc #0; b again
  arm64: [
    0xd2800000, 0xd2800001, 0xd2800002, 0xd2800003, 0xd2800004, 0xd2800928, 0xd4000001, 0x17fffff9,
  ].flatMap((instruction) => [0, 8, 16, 24].map((shift) => (instruction >>> shift) & 0xff)),
};

const ELF_HEADER = 64;
const PROGRAM_HEADER = 56;
const START = ELF_HEADER + PROGRAM_HEADER;
const ADDRESS = 0x400000;
const READ_AND_EXECUTE = 5;

/** A static ELF executable (man 5 elf): header, one segment, the code. */
export function pauseProgram({ architecture, elfMachine }: Platform): Buffer {
  const code = Buffer.from(CODE[architecture]);
  const file = Buffer.concat([Buffer.alloc(START), code]);
  // 64 bits, little endian, version 1; an executable; where it starts; where its one program header is.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(file);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(elfMachine, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(ADDRESS + START), 24);
  file.writeBigUInt64LE(BigInt(ELF_HEADER), 32);
  file.writeUInt16LE(ELF_HEADER, 52);
  file.writeUInt16LE(PROGRAM_HEADER, 54);
  file.writeUInt16LE(1, 56);
  writeSegment(file);
  return file;
}

/** All of the file, to be loaded at ADDRESS. */
function writeSegment(file: Buffer): void {
  const at = (offset: number): number => ELF_HEADER + offset;
  file.writeUInt32LE(1, at(0));
  file.writeUInt32LE(READ_AND_EXECUTE, at(4));
  for (const offset of [16, 24]) file.writeBigUInt64LE(BigInt(ADDRESS), at(offset));
  for (const offset of [32, 40]) file.writeBigUInt64LE(BigInt(file.length), at(offset));
  file.writeBigUInt64LE(0x1000n, at(48));
}
