import { expect, test } from '@jest/globals';
import { renderTerminal } from './terminal-picture.ts';
import { THEMES } from './theme.ts';

const SHOWN = {
  command: 'kubectl vmmrq preflight node node1',
  output: 'VM    OUTCOME\nvm0   \u001B[31mstuck\u001B[39m   a < b\n',
};

test('shows the command, and each line with its colours', () => {
  const rows = renderTerminal(SHOWN, 'light').match(/(?<=preserve">).*(?=<\/text>)/g);
  expect(rows).toEqual([
    '<tspan fill="#59636e">$</tspan> <tspan font-weight="600">kubectl vmmrq preflight node node1</tspan>',
    'VM    OUTCOME',
    'vm0   <tspan fill="#d1242f">stuck</tspan>   a &lt; b',
  ]);
});

test('describes itself by the text alone', () => {
  expect(renderTerminal(SHOWN, 'dark')).toContain('>VM    OUTCOME\nvm0   stuck   a &lt; b</desc>');
});

test('the themes differ only in colours', () => {
  const [light, dark] = THEMES.map((theme) => renderTerminal(SHOWN, theme).replaceAll(/#[0-9a-f]{6}/g, '#'));
  expect(light).toBe(dark);
});
