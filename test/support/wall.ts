import { WALLS, type Wall } from '../cluster/walls.ts';

/** How the labs are installed in this run: `WALL=policies|both`, both when it is not set. The one reader of it. */
export const WALL: Wall = wallOf(process.env['WALL'] ?? 'both');

/** For what is about the webhooks themselves: with them, in every run. */
export const WITH_WEBHOOKS: Wall = 'both';

function wallOf(text: string): Wall {
  const wall = WALLS.find((one) => one === text);
  if (wall === undefined) throw new Error(`WALL is one of ${WALLS.join(', ')}; not '${text}'`);
  return wall;
}
