import {
  COMPONENTS,
  type Component,
  type Installation,
  type Overlay,
} from '../../../test/cluster/overlay.ts';

/** A folder of config/components that a value of the chart adds. */
export type Switch = Component | Exclude<Overlay, 'default'>;
const SWITCHES: readonly Switch[] = ['policy-only', ...COMPONENTS];

/** KubeVirt's namespace in the manifests, unless the component openshift names another. */
const KUBEVIRT_NAMESPACE = 'kubevirt';

/** The switches that are values of their own, by the name of the value. In the chart, openshift is a namespace of KubeVirt. */
export const SWITCH_VALUES: ReadonlyMap<string, Switch> = new Map(
  SWITCHES.filter((name) => name !== 'openshift').map((name) => [valueOf(name), name]),
);

/** The name of a switch in the values: "live-migration" is liveMigration. */
function valueOf(name: Switch): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** A condition of the template language. */
interface Condition {
  readonly text: string;
  readonly holds: (on: readonly Switch[]) => boolean;
}

const ONE_SWITCH: readonly Condition[] = [true, false].flatMap((wanted) =>
  SWITCHES.map((name) => ({
    text:
      name === 'openshift'
        ? `${wanted ? 'ne' : 'eq'} .Values.kubevirtNamespace "${KUBEVIRT_NAMESPACE}"`
        : `${wanted ? '' : 'not '}.Values.components.${valueOf(name)}`,
    holds: (on) => on.includes(name) === wanted,
  })),
);
/** What two components delete has both in its condition. */
const TWO_SWITCHES: readonly Condition[] = ONE_SWITCH.flatMap((one, index) =>
  ONE_SWITCH.slice(index + 1).map((other) => ({
    text: `and (${one.text}) (${other.text})`,
    holds: (on) => one.holds(on) && other.holds(on),
  })),
);

/**
 * The installations that a template is made from: nothing on, each switch alone, and each component with those that add functions,
 * because it changes these too. Other switches change different places, which test/contract/chart.long.test.ts checks with all of them on.
 */
export const SAMPLED: readonly (readonly Switch[])[] = [
  [],
  ...SWITCHES.map((name) => [name]),
  ...(['minimal', 'live-migration'] as const).flatMap((adding) =>
    COMPONENTS.slice(COMPONENTS.indexOf(adding) + 1).map((name) => [adding, name]),
  ),
];

/** What `npm run manifests` renders with these switches on. */
export const installationOf = (on: readonly Switch[]): Pick<Installation, 'overlay' | 'components'> => ({
  overlay: on.includes('policy-only') ? 'policy-only' : 'default',
  components: COMPONENTS.filter((name) => on.includes(name)),
});

/** The condition that holds where `wanted` is true. Throws when one switch, or two, cannot say it. */
export function conditionFor(all: readonly (readonly Switch[])[], wanted: readonly boolean[]): string {
  const condition = [...ONE_SWITCH, ...TWO_SWITCHES].find(({ holds }) =>
    all.every((on, index) => holds(on) === wanted[index]),
  );
  if (condition !== undefined) return condition.text;
  const those = all.filter((_, index) => wanted[index] === true).map((on) => `[${on.join(', ')}]`);
  throw new Error(`no two switches of the chart decide for ${those.join(', ')}`);
}
