/** Decides which ages the command line takes. */
import { parseAge as parse } from "@skein/domain/Milliseconds"

/** A younger session may still be in use. */
const least = 86_400_000

/** Reads `36h`, `90d` or `12w`. Returns milliseconds, or undefined if it is not an age, or less than a day. */
export const parseAge = (text: string): number | undefined => {
  const age = parse(text)
  return age !== undefined && age >= least ? age : undefined
}
