/**
 * Decodes `&name;`. It replaces a module of the Markdown parser that uses a DOM element for this, which the page's
 * policy forbids.
 */
import { bodyOf } from "./markup.ts"

/** The character of a name; false if there is none. */
export const decodeNamedCharacterReference = (name: string): string | false => {
  const text = bodyOf(`&${name};`).textContent
  // The rest of an unknown name: `&lt` alone is known, and would leave the rest of `&ltx;`.
  const isLeft = text.endsWith(";") && name !== "semi"
  return isLeft || text === `&${name};` ? false : text
}
