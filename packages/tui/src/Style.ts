/** Decides how lines are coloured. */

/** Colours a text, or does not. */
export type Paint = (text: string) => string

/** The colours that are used. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly italic: Paint
  readonly underline: Paint
  readonly strike: Paint
  readonly inverse: Paint
  readonly green: Paint
  readonly red: Paint
  readonly yellow: Paint
  readonly cyan: Paint
  readonly blue: Paint
  readonly magenta: Paint
  /** The colour of an agent: a name or `#rrggbb`, as config has it. */
  readonly of: (color: string) => Paint
}

const sgr = (on: number | string, off: number): Paint => (text) => text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`

const same: Paint = (text) => text

const named: Readonly<Record<string, number>> = {
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
  white: 37,
  gray: 90
}

const ofColor = (color: string): Paint => {
  const rgb = /^#(..)(..)(..)$/.exec(color)?.slice(1).map((part) => Number.parseInt(part, 16))
  return sgr(rgb === undefined ? named[color] ?? 39 : `38;2;${rgb.join(";")}`, 39)
}

/** Colours as terminals have them. */
export const coloured: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  italic: sgr(3, 23),
  underline: sgr(4, 24),
  strike: sgr(9, 29),
  inverse: sgr(7, 27),
  green: sgr(32, 39),
  red: sgr(31, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39),
  blue: sgr(34, 39),
  magenta: sgr(35, 39),
  of: ofColor
}

/** Colours that can be read on a light background, where the terminal's own yellow and cyan cannot. */
export const onLight: Style = {
  ...coloured,
  green: sgr("38;5;28", 39),
  red: sgr("38;5;124", 39),
  yellow: sgr("38;5;130", 39),
  cyan: sgr("38;5;30", 39),
  blue: sgr("38;5;25", 39),
  magenta: sgr("38;5;90", 39)
}

/** No colours: what NO_COLOR asks for. */
export const colourless: Style = {
  bold: same,
  dim: same,
  italic: same,
  underline: same,
  strike: same,
  inverse: same,
  green: same,
  red: same,
  yellow: same,
  cyan: same,
  blue: same,
  magenta: same,
  of: () => same
}
