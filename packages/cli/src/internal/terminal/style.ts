/** Decides how lines are coloured. */

/** Colours a text, or does not. */
type Paint = (text: string) => string

/** The colours that are used. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly green: Paint
  readonly red: Paint
  readonly yellow: Paint
  readonly cyan: Paint
}

const sgr = (on: number, off: number): Paint => (text) => text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`

const same: Paint = (text) => text

/** Colours as terminals have them. */
export const coloured: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  green: sgr(32, 39),
  red: sgr(31, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39)
}

/** No colours: what NO_COLOR asks for. */
export const colourless: Style = { bold: same, dim: same, green: same, red: same, yellow: same, cyan: same }
