/** Matches paths against globs, in time proportional to pattern and path multiplied, whatever the pattern. */
import { walk } from "@skein/core/Ruleset"
import * as Either from "effect/Either"

type Fits = (text: string) => boolean

const apply = (fits: Fits, text: string): boolean => fits(text)

/** How many patterns the braces of one may expand to. */
const maximumAlternatives = 1_000

/** Expands `{a,b}`. Braces without a comma or a partner are ordinary characters. */
const alternatives = (pattern: string): ReadonlyArray<string> => {
  const done: Array<string> = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (done.length + open.length > maximumAlternatives) return []
    const group = innermost(next)
    if (group === undefined) done.push(next)
    else {
      const { from, parts, to } = group
      for (const part of parts) open.push(next.slice(0, from) + part + next.slice(to))
    }
  }
  return [...new Set(done)]
}

/** The first pair of braces that contains no other. */
const innermost = (pattern: string) => {
  let from = -1
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at)
    if (character === "\\") at++
    else if (character === "{") from = at
    else if (character === "}" && from >= 0) {
      const parts = pattern.slice(from + 1, at).split(",")
      if (parts.length > 1) return { from, to: at + 1, parts }
      from = -1
    }
  }
  return undefined
}

/** A part of a name: any characters, or one character, which is any, one of a set, or a literal. */
type Atom = "*" | Fits

const setOf = (text: string): (character: string) => boolean => {
  const isNot = text.startsWith("!") || text.startsWith("^")
  const body = [...(isNot ? text.slice(1) : text)]
  const ranges: Array<readonly [string, string]> = []
  for (let at = 0; at < body.length; at++) {
    const from = body[at] as string
    const to = body[at + 1] === "-" ? body[at + 2] : undefined
    ranges.push([from, to ?? from])
    if (to !== undefined) at += 2
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to) !== isNot
}

const atomsOf = (name: string): ReadonlyArray<Atom> => {
  const characters = [...name]
  const atoms: Array<Atom> = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string
    if (character === "*") {
      if (atoms.at(-1) !== "*") atoms.push("*")
    } else if (character === "?") atoms.push(() => true)
    else if (character === "[" && characters.indexOf("]", at + 2) > 0) {
      const end = characters.indexOf("]", at + 2)
      atoms.push(setOf(characters.slice(at + 1, end).join("")))
      at = end
    } else {
      const literal = character === "\\" && at + 1 < characters.length ? characters[++at] : character
      atoms.push((other) => other === literal)
    }
  }
  return atoms
}

/** Whether a name, the part of a path between two slashes, matches. */
const nameMatcher = (pattern: string): (name: string) => boolean => {
  if (!/[*?[\\]/.test(pattern)) return (name) => name === pattern
  if (pattern === "*") return () => true
  const suffix = /^\*([^*?[\\]+)$/.exec(pattern)?.[1]
  if (suffix !== undefined) return (name) => name.endsWith(suffix)
  const atoms = atomsOf(pattern)
  // Names such as `[id]` are common, and a pattern with them usually means the name.
  return (name) => name === pattern || walk(atoms, [...name], "*", apply)
}

/** A part of a path: any names, or one name. */
type Step = "**" | Fits

const stepsOf = (pattern: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const name of pattern.split("/")) {
    if (name === "" || name === ".") continue
    if (name !== "**") steps.push(nameMatcher(name))
    else if (steps.at(-1) !== "**") steps.push("**")
  }
  // A final `**` matches at least one name: `src/**` is what is in src, not src.
  if (steps.at(-1) === "**") steps.push(() => true)
  return steps
}

/**
 * Whether a path (relative, with `/`) matches a pattern: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any directories. A
 * pattern without a slash matches names in every directory.
 */
export const compileGlob = (pattern: string): Either.Either<(path: string) => boolean, string> => {
  const written = alternatives(pattern)
  if (written.length === 0) return Either.left(`its braces stand for more than ${maximumAlternatives} patterns`)
  const compiled = written.map((each) => {
    const steps = stepsOf(each.includes("/") ? each : `**/${each}`)
    const last = steps.at(-1)
    return { steps, last: last === "**" ? undefined : last }
  })
  return Either.right((path) => {
    const names = path.split("/")
    const name = names.at(-1) ?? ""
    return compiled.some(({ last, steps }) => (last === undefined || last(name)) && walk(steps, names, "**", apply))
  })
}
