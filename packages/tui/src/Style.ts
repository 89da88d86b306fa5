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

const rgbOf = (color: string): ReadonlyArray<number> | undefined =>
  /^#(..)(..)(..)$/.exec(color)?.slice(1).map((part) => Number.parseInt(part, 16))

const ofColor = (color: string): Paint => {
  const rgb = rgbOf(color)
  return sgr(rgb === undefined ? named[color] ?? 39 : `38;2;${rgb.join(";")}`, 39)
}

/** The most that the luminance of a text may be, as WCAG defines it: 4.5 to 1 on a background such as `#fdf6e3`. */
const lightest = 0.16

const luminanceOf = (rgb: ReadonlyArray<number>): number => {
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The same hue, as dark as it has to be. */
const darkened = (rgb: ReadonlyArray<number>): ReadonlyArray<number> =>
  luminanceOf(rgb) <= lightest ? rgb : darkened(rgb.map((part) => Math.floor(part * 0.95)))

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

const dark = {
  green: sgr("38;5;22", 39),
  red: sgr("38;5;124", 39),
  yellow: sgr("38;5;94", 39),
  cyan: sgr("38;5;23", 39),
  blue: sgr("38;5;25", 39),
  magenta: sgr("38;5;90", 39)
}

/** White is invisible on a light background, and grey nearly so. */
const darkNamed: Readonly<Record<string, Paint>> = { ...dark, white: sgr("38;5;238", 39), gray: sgr("38;5;240", 39) }

/** Colours that can be read on a light background, where the terminal's own yellow and cyan cannot: 4.5 to 1 at least. */
export const onLight: Style = {
  ...coloured,
  ...dark,
  of: (color) => {
    const rgb = rgbOf(color)
    return rgb === undefined ? darkNamed[color] ?? same : sgr(`38;2;${darkened(rgb).join(";")}`, 39)
  }
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
