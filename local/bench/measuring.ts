/** How much is measured, and where the product finds what an image would bring. */
export interface Measuring {
  /** How many of each. */
  readonly releases: number;
  /** A folder for NODE_COMPILE_CACHE. */
  readonly compileCache: string;
  readonly onProgress: (line: string) => void;
}
