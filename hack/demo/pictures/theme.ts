export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** Colours [light, dark] of GitHub's pages (https://primer.style/product/primitives/color), where the pictures are shown. */
const COLOURS = {
  background: ['#ffffff', '#0d1117'],
  text: ['#1f2328', '#f0f6fc'],
  dim: ['#59636e', '#9198a1'],
  grid: ['#d1d9e0', '#3d444d'],
  red: ['#d1242f', '#f85149'],
  amber: ['#9a6700', '#d29922'],
  blue: ['#0969da', '#4493f8'],
  green: ['#1a7f37', '#3fb950'],
  purple: ['#8250df', '#ab7df8'],
} as const;
export type Colour = keyof typeof COLOURS;

export const colourOf = (colour: Colour, theme: Theme): string =>
  COLOURS[colour][THEMES.indexOf(theme)] ?? '';
