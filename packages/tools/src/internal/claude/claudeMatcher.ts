/** Decides which names a matcher of Claude Code matches: names separated by `|`, or else a regular expression. */
import * as Either from "effect/Either"
import { createContext, Script } from "node:vm"

/** How long matching a name may take, in milliseconds: the expression is untrusted. */
const timeout = 100

/** How many results of one expression are cached. */
const maximumKnown = 1_000

const script = new Script("new RegExp(matcher).test(name)")

const tested = (matcher: string, name: string): Either.Either<boolean, string> =>
  Either.try({
    try: () => script.runInContext(createContext({ matcher, name }), { timeout }) === true,
    catch: (error) => `its matcher ${JSON.stringify(matcher)} cannot be used: ${String(error)}`
  })

/** Reads a matcher. Matching a name gives a `left` value if the matcher cannot be used. */
export const claudeMatcher = (matcher = ""): (name: string) => Either.Either<boolean, string> => {
  if (matcher === "" || matcher === "*") return () => Either.right(true)
  if (/^[\w|]+$/.test(matcher)) {
    const names = new Set(matcher.split("|"))
    return (name) => Either.right(names.has(name))
  }
  const known = new Map<string, Either.Either<boolean, string>>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const answer = tested(matcher, name)
    if (known.size < maximumKnown) known.set(name, answer)
    return answer
  }
}
