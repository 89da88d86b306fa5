/** Finds the files that a line reads, changes or names, and its paths outside. */
import * as Wildcard from "@skein/core/Ruleset"
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import type { Target } from "../../Paths.ts"
import { isProtected, mayBeProtected } from "../protectedNames.ts"
import { isMistake } from "../refusal.ts"
import { filesOf, type ReadBelow } from "./callFiles.ts"
import { change } from "./change.ts"
import { makeGlobs } from "./globs.ts"
import { isStream, writesOperands } from "./operands.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { type Looking, targetsOf, textsOf, Touched } from "./touched.ts"
import { makeTreeFiles } from "./treeFiles.ts"
import { type Argument, plainWord } from "./words.ts"

/** Finds the matches of patterns in words. The searched directories count as read. */
const makeFound = (places: Places, touched: Touched) => {
  const globs = makeGlobs(places)
  const nothing = { paths: [], directories: [], whole: true }
  const known = new Map<string, ReadonlyArray<string>>()
  return (argument: Argument): Effect.Effect<ReadonlyArray<string>, ToolError> => {
    const before = known.get(argument.source)
    if (argument.glob === undefined || before !== undefined) return Effect.succeed(before ?? [])
    return globs(argument.glob).pipe(
      Effect.catchIf(isMistake, ({ message }) => {
        touched.doubt(message)
        return Effect.succeed(nothing)
      }),
      Effect.map(({ directories, paths, whole }) => {
        if (!whole) touched.doubt(`${argument.source} may stand for more files than can be looked at.`)
        for (const directory of directories) touched.searches(places, directory)
        known.set(argument.source, paths)
        return paths
      })
    )
  }
}

/** The words of a call, with each pattern followed by its matches. */
const withFiles = Effect.fnUntraced(function*(
  invocation: Invocation,
  touched: Touched,
  found: (argument: Argument) => Effect.Effect<ReadonlyArray<string>, ToolError>
) {
  const args: Array<Argument> = []
  const seen = new Set<string>()
  for (const argument of invocation.args) {
    args.push(argument)
    if (argument.glob === undefined || seen.has(argument.source)) continue
    seen.add(argument.source)
    const paths = yield* found(argument)
    const hidden = argument.glob.some(({ fits }) => fits !== undefined && mayBeProtected(fits))
    // A program takes a word that looks like an option for one.
    if (hidden || paths.some((path) => /^[-+]/.test(path))) touched.guarded.add(invocation.pattern)
    for (const path of paths) args.push(plainWord(path))
  }
  return { ...invocation, args }
})

/** Names that the shell splits, or a program takes for an option. */
const isStrangeName = (path: string): boolean => /[\s*?[\]{}\\'"]|^[-+]/.test(path)

/** Checks what is read below a directory, if rules may apply to files in it. */
const below = Effect.fnUntraced(function*(
  looking: Looking,
  { pattern }: Invocation,
  each: ReadBelow,
  targets: ReadonlyArray<Target>
) {
  const { touched } = looking
  for (const { place, real, shown } of targets) {
    if (place !== "inside") continue
    touched.read.add(shown)
    const tree = yield* looking.treeFiles(real, { hidden: each.hidden, packages: true })
    if (tree === undefined) touched.doubt(`${shown} has more files than can be checked.`)
    const links = new Set(tree?.links)
    for (const file of tree?.files ?? []) {
      const path = shown === "." ? file : `${shown}/${file}`
      if (each.given && !each.all && /(?:^|\/)\.git\//.test(path)) continue
      if (!each.whole && isStrangeName(file)) touched.doubt(`${file} may be taken for more than the name of a file.`)
      const name = file.slice(file.lastIndexOf("/") + 1)
      if (each.names.length > 0 && !each.names.some((one) => Wildcard.glob(one, name))) continue
      if (looking.reading(path) !== "allow") touched.searched.add(path)
      if (!each.given && each.follows !== true) continue
      if (each.given && isProtected(path)) touched.guarded.add(pattern)
      if (!links.has(file)) continue
      for (const target of yield* targetsOf(looking.places, touched, `${real}/${file}`)) {
        touched.looked(target)
        if (target.place === "inside") touched.read.add(target.shown)
      }
    }
  }
})

const invoked = Effect.fnUntraced(function*(looking: Looking, invocation: Invocation) {
  const given = invocation.args.some(({ glob }) => glob !== undefined)
    ? yield* withFiles(invocation, looking.touched, looking.found)
    : invocation
  const { below: directories, named } = filesOf(invocation.call === undefined ? given : invocation)
  for (const { tells, text, word } of named) {
    for (const path of yield* textsOf(looking, text, word)) {
      for (const target of yield* targetsOf(looking.places, looking.touched, path)) {
        if (tells === false) looking.touched.looked(target)
        else looking.touched.searches(looking.places, target)
        const isRead = invocation.reads || path === invocation.program
        if (target.place === "outside" && !isRead) looking.touched.reached.add(target.real)
        if (target.shown.startsWith("~")) looking.touched.doubt(`${path} leads to a home that is not known.`)
        if (target.protected && invocation.reads) looking.touched.guarded.add(invocation.pattern)
        else if (target.protected || writesOperands(invocation)) looking.touched.changed.set(target.real, target)
        if (target.place !== "inside" || tells === false) continue
        // Files that are known to be read count as shown. Files that only may be read count if rules apply to them.
        if (tells === true || looking.reading(target.shown) !== "allow") looking.touched.read.add(target.shown)
      }
    }
  }
  for (const each of directories) {
    for (const path of yield* textsOf(looking, each.directory, each.word)) {
      const targets = yield* targetsOf(looking.places, looking.touched, path)
      for (const target of targets) looking.touched.searches(looking.places, target)
      yield* below(looking, invocation, each, targets)
    }
  }
  yield* change(looking, given)
})

/** Finds out what a line does to files. `reading` and `editing` give the rule for a path. */
export const touch = (places: Places, parts: Parts, { editing, reading }: Pick<Looking, "editing" | "reading">) =>
  Effect.gen(function*() {
    const touched = new Touched()
    const found = makeFound(places, touched)
    const looking: Looking = { places, touched, found, treeFiles: makeTreeFiles(), reading, editing }
    for (const argument of parts.listed) yield* found(argument)
    for (const { text } of parts.tested) {
      if (text === "" || isStream(text)) continue
      for (const target of yield* targetsOf(places, touched, text)) touched.looked(target)
    }
    for (const { target, writes } of parts.opened) {
      if (!target.fixed) touched.doubt(`${target.source} is not known before it is opened.`)
      if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) touched.doubt(`${target.text} is a connection.`)
      if (isStream(target.text)) continue
      for (const each of yield* targetsOf(places, touched, target.text)) {
        if (writes) touched.changed.set(each.real, each)
        else {
          touched.looked(each)
          touched.read.add(each.shown)
        }
      }
    }
    for (const target of places.visited) {
      touched.looked(target)
      if (target.place === "outside") touched.entered.add(target.real)
      if (target.protected) touched.changed.set(target.real, target)
    }
    const lists = parts.invocations.some(({ args }) => args.some(({ output }) => output?.kind === "paths"))
    if (lists && (parts.opened.some(({ writes }) => writes) || !parts.invocations.every(({ reads }) => reads))) {
      touched.doubt("It may change which files there are before it lists them.")
    }
    for (const invocation of parts.invocations) {
      if (places.tooMany()) break
      yield* invoked(looking, invocation)
    }
    if (places.tooMany()) touched.doubt("It names more files than can be looked at.")
    return touched
  })
