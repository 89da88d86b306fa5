/** The tool `glob`: finds files by their names. */
import * as FileSystem from "@effect/platform/FileSystem"
import { walk } from "@skein/core/Ruleset"
import { bound } from "@skein/core/Spill"
import { define, type Tool, type ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { lookAsks } from "./internal/asks.ts"
import { refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { below, eachFile, placeOf, requireDirectory, Ripgrep } from "./Ripgrep.ts"

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

/** The maximum number of files in a result. */
const maximumFiles = 1_000

const description =
  `Finds files by name. A pattern without a slash looks in all directories. Gives sorted paths relative to the working directory, at most ${maximumFiles}. Skips what .gitignore names.`

const Parameters = Schema.Struct({
  pattern: Schema.NonEmptyString.annotations({
    description: "Such as **/*.ts or src/{api,web}/[a-z]?.md"
  }),
  path: Schema.optional(Schema.String.annotations({ description: "Where to look (working directory)" }))
})

/** The parameters of `glob`. */
export interface GlobInput extends Schema.Schema.Type<typeof Parameters> {}

/** A pattern relative to the searched directory. */
const relativePattern = (pattern: string, target: Target): Either.Either<string, string> => {
  if (pattern.startsWith(`${target.real}/`)) return Either.right(pattern.slice(target.real.length))
  if (pattern.split("/").includes("..")) return Either.left("it has .. in it; give the directory as path")
  if (/^(\/|~\/)/.test(pattern)) {
    return Either.left(`it is not below ${target.real}; give that directory as path, and the pattern from there`)
  }
  return Either.right(pattern)
}

/** Makes `glob`. */
export const makeGlob: Effect.Effect<Tool<GlobInput, Target>, never, FileSystem.FileSystem | Paths | Ripgrep> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const ripgrep = yield* Ripgrep

      const matcher = (pattern: string, target: Target): Effect.Effect<(path: string) => boolean, ToolError> =>
        Either.match(Either.flatMap(relativePattern(pattern, target), compileGlob), {
          onLeft: (reason) => refuse("invalid_arguments", `glob.pattern ${pattern} cannot be used: ${reason}.`),
          onRight: Effect.succeed
        })

      return define<GlobInput, Target>({
        name: "glob",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.pattern,
        authorise: (input, caller) =>
          Effect.map(paths.decide(input.path ?? ".", caller), (target) => ({
            asks: lookAsks("glob", target, {
              pattern: input.pattern,
              directory: true,
              metadata: { pattern: input.pattern, path: target.shown }
            }),
            plan: target
          })),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.path ?? ".", context)
          const matches = yield* matcher(input.pattern, target)
          yield* requireDirectory(fs, target)
          const found: Array<string> = []
          const notes = yield* eachFile(ripgrep, target, paths.hides(target), (path) => {
            if (matches(path)) {
              found.push(below(target, path))
            }
          })
          const sorted = found.toSorted()
          let bytes = 0
          const shown = sorted.slice(0, maximumFiles).filter((path) =>
            (bytes += Buffer.byteLength(path) + 1) < bound.bytes - 1_024
          )
          const rest = found.length > shown.length
            ? [`(The first ${shown.length} of ${found.length} files: narrow the pattern or the path.)`]
            : []
          const text = found.length === 0 ? `No files fit ${input.pattern} in ${placeOf(target)}.` : shown.join("\n")
          return {
            title: input.pattern,
            output: [text, ...(rest.length + notes.length > 0 ? [""] : []), ...rest, ...notes].join("\n"),
            metadata: { pattern: input.pattern, path: target.shown, count: found.length }
          }
        })
      })
    }
  )
