/**
 * Decodes `&name;`. It stands in the place of a module of the Markdown parser that asks an element of the page to do it, which
 * the policy of the page forbids.
 */
import { bodyOf } from "./markup.ts"

/** The character that a name stands for; false where it stands for none. */
export const decodeNamedCharacterReference = (name: string): string | false => {
  const text = bodyOf(`&${name};`).textContent
  // What is left of an unknown name: `&lt` alone is known, and would leave the rest of `&ltx;`.
  const isLeft = text.endsWith(";") && name !== "semi"
  return isLeft || text === `&${name};` ? false : text
}
