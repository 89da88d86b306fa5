/** Finds the files that a line reads, changes or names, and its paths outside. */
import * as Wildcard from "@skein/core/Ruleset"
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import { relative, resolve } from "node:path"
import type { Target } from "../../Paths.ts"
import { attempt, isDirectory, isIn, lstatOf, realOf } from "../disk.ts"
import { isProtected, mayBeProtected } from "../protectedNames.ts"
import { isMistake } from "../refusal.ts"
import { filesOf, type ReadBelow } from "./callFiles.ts"
import { change, changeElsewhere, writesElsewhere, written } from "./change.ts"
import { makeGlobs } from "./globs.ts"
import { isStream, mayWrite, opensUnnamed, pathsOf, writesOperands } from "./operands.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { anything, joined, type Looking, makeTreeFiles, targetsOf, textsOf, Touched } from "./touched.ts"
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
  for (const target of targets) {
    if (target.place === "spill") continue
    const { real, shown } = target
    if (target.place === "inside" || looking.reading(shown) !== "allow") touched.read.add(shown)
    const tree = yield* looking.treeFiles(real, { hidden: each.hidden, packages: true })
    if (tree === undefined) touched.unchecked(target)
    const links = new Set(tree?.links)
    for (const file of tree?.files ?? []) {
      const path = joined(shown, file)
      if (each.given && !each.all && /(?:^|\/)\.git\//.test(path)) continue
      if (!each.whole && isStrangeName(file)) touched.doubt(`${file} may be taken for more than the name of a file.`)
      const name = file.slice(file.lastIndexOf("/") + 1)
      if (each.names.length > 0 && !each.names.some((one) => Wildcard.glob(one, name))) continue
      if (looking.reading(path) !== "allow") touched.searched.add(path)
      if (!each.given && each.follows !== true) continue
      if (each.given && isProtected(path)) touched.guarded.add(pattern)
      if (!links.has(file)) continue
      for (const led of yield* targetsOf(looking.places, touched, `${real}/${file}`)) {
        touched.looked(led)
        if (led.place === "inside" || looking.reading(led.shown) !== "allow") touched.read.add(led.shown)
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
        else if (
          target.protected || writesOperands(invocation) ||
          (target.place === "outside" && writesElsewhere(invocation, word))
        ) looking.touched.changed.set(target.real, target)
        else if (mayWrite(invocation, word)) written(looking, target)
        if (target.place === "spill" || tells === false) continue
        // Files that are known to be read count as shown. Files that only may be read count if rules apply to them.
        const isShown = target.place === "inside" && tells === true
        if (isShown || looking.reading(target.shown) !== "allow") looking.touched.read.add(target.shown)
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
  if (collectors.test(invocation.program)) yield* collected(looking, invocation)
})

/** Programs that pack, copy or search all that is below a directory. */
const collectors =
  /^(?:7z|7za|7zr|ack|ar|bsdtar|cpio|gtar|pax|pt|rar|rclone|rga|rsync|scp|sift|star|tar|ucg|ug|ugrep|zip)$/

/** What such a call may read: below the directories that it names, or else below the one in which it runs. */
const collected = Effect.fnUntraced(
  function*({ places, reading, touched, treeFiles }: Looking, invocation: Invocation) {
    const unpacks = invocation.program.endsWith("tar") &&
      invocation.args.some(({ text }, at) =>
        at === 0 && /^-?[a-zA-Z]*[xt]/.test(text) || /^(?:--extract|--list|-[a-zA-Z]*[xt])/.test(text)
      )
    if (unpacks) return
    const tops = new Map<string, Target>()
    for (const text of [...pathsOf(invocation).map((each) => each.text), "."]) {
      if (text === "." && tops.size > 0) continue
      for (const target of yield* targetsOf(places, touched, text)) {
        if (target.place !== "spill" && isDirectory(target.real)) tops.set(target.real, target)
      }
    }
    for (const target of tops.values()) {
      const tree = yield* treeFiles(target.real, { hidden: true, packages: false })
      if (tree === undefined) touched.unchecked(target)
      for (const path of (tree?.files ?? []).map((file) => joined(target.shown, file))) {
        if (reading(path) !== "allow") touched.searched.add(path)
      }
    }
  }
)

/** Whether a call may open what its arguments do not name as such: in code, in a list of arguments, in a variable. */
const mayOpenMore = ({ call, program, reads, runs }: Invocation): boolean =>
  !reads && program !== "export" && (call === undefined || call.unknown !== undefined || runs === true)

/** How many words of a line are checked. */
const mostMentioned = 500

/**
 * Finds what a rule does not let be read, and the text of a line names anywhere. Where a program may open more than its
 * arguments say, that counts as read.
 */
const mentioned = Effect.fnUntraced(function*({ places, reading, touched }: Looking, text: string, top: string) {
  const words = text.replaceAll(/\$(?:HOME\b|\{HOME\})/g, "~").split(/[^\p{L}\p{N}_./%+~-]+/u).flatMap((word) => [
    word,
    word.replace(/^-+[A-Za-z]?/, "")
  ])
  const tree = realOf(top)
  const named = [...new Set(words)].filter((each) => /[^./~]/.test(each)).slice(0, mostMentioned)
  const inHome = yield* Effect.forEach(
    named.filter((each) => each.startsWith("~/")),
    (each) => targetsOf(places, touched, each)
  )
  const all = [
    ...places.directories.flatMap((each) => named.map((word) => resolve(each === "" ? tree : each, word))),
    ...inHome.flat().map(({ real }) => real)
  ]
  for (const each of all) {
    const stat = attempt(() => lstatOf(each), undefined)
    if (stat === undefined) continue
    for (const path of new Set([each, realOf(each)])) {
      const name = isIn(path, tree) ? relative(tree, path) : path
      const isDenied = name !== "" && reading(stat.isDirectory() ? `${name}/${anything}` : name) === "deny"
      if (isDenied) touched.searched.add(stat.isDirectory() ? `${name}/*` : name)
    }
  }
})

/** Finds out what a line does to files. `reading` and `editing` give the rule for a path. */
export const touch = (
  places: Places,
  parts: Parts,
  line: string,
  top: string,
  { editing, reading }: Pick<Looking, "editing" | "reading">
) =>
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
    if (parts.unclear !== undefined || parts.invocations.some(mayOpenMore)) {
      yield* mentioned(looking, line, top)
    }
    touched.opens ||= parts.invocations.some(opensUnnamed)
    yield* changeElsewhere(looking, parts, line)
    if (places.tooMany()) touched.doubt("It names more files than can be looked at.")
    return touched
  })
