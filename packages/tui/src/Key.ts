/** What a terminal sends: keys, text, pasted text, focus, and its replies to questions. */

/** Keys that produce no text. */
export type BaseKey =
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "pageUp"
  | "pageDown"
  | "enter"
  | "tab"
  | "escape"
  | "backspace"
  | "delete"
  | "space"
  | "other"

type Letter =
  | "a"
  | "b"
  | "c"
  | "d"
  | "e"
  | "f"
  | "g"
  | "h"
  | "i"
  | "j"
  | "k"
  | "l"
  | "m"
  | "n"
  | "o"
  | "p"
  | "q"
  | "r"
  | "s"
  | "t"
  | "u"
  | "v"
  | "w"
  | "x"
  | "y"
  | "z"

/** A key with its modifiers, always in the order ctrl, alt, shift: `ctrl+c`, `alt+enter`, `shift+tab`. */
export type KeyName =
  | BaseKey
  | `${"ctrl+" | "alt+" | "ctrl+alt+" | "shift+" | "ctrl+shift+" | "alt+shift+" | "ctrl+alt+shift+"}${BaseKey | Letter}`

/** A colour, each part from 0 to 1. */
export interface Rgb {
  readonly red: number
  readonly green: number
  readonly blue: number
}

/** What was typed, or what the terminal reports. */
export type Key =
  | { readonly type: "key"; readonly name: KeyName }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: "focus"; readonly isFocused: boolean }
  | { readonly type: "background"; readonly color: Rgb }
  /** A reply that ends a series of questions: every terminal gives it. */
  | { readonly type: "attributes" }

/** Whether a key is the one with this name. */
export const isKey = (key: Key, name: KeyName): boolean => key.type === "key" && key.name === name
