/** A node of the roll has no VMs left. May come again while the work lasts. */
export const DRAINED = 'example.rolling.drained';
/** A node has been worked on. */
export const WORKED = 'example.rolling.worked';
