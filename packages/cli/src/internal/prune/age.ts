/** Decides which ages the command line takes. */
import { parseAge as parse } from "@skein/domain/Age"

/** Less than this may be a session that somebody is at work on. */
const least = 86_400_000

/** Reads `36h`, `90d` or `12w`; gives milliseconds, or undefined where it is none, or less than a day. */
export const parseAge = (text: string): number | undefined => {
  const age = parse(text)
  return age !== undefined && age >= least ? age : undefined
}
