/** Asks a terminal for its background, and reads the reply. */
import type { Key, Rgb } from "../../Key.ts"

/** The colour of the background (OSC 11). Every terminal answers the question behind it: then no colour follows. */
export const askBackground = "\x1b]11;?\x07\x1b[c"

/** How long a terminal may take, in milliseconds: what is printed before has the colours for dark ones. */
export const patience = 100

/** Whether dark letters are read better on it. */
export const isLight = ({ blue, green, red }: Rgb): boolean => 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5

/** Whether a key is a reply, and no key of a person. */
export const isReply = ({ type }: Key): boolean => type === "background" || type === "attributes"
